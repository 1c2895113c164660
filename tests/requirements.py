"""What limnos promises, as data: an id, one sentence, and the tests that hold it.

P: a principle of the product. K: kernel. A: approvals. S: sessions and the log. W: window. T: a threat.
C: the command line. D: the daemon and what waits for it. G: plugins. B: built-in plugins.
F: sub-agents. M: memory.
A promise without a test does not stand here.
"""

from typing import NamedTuple

JOURNEY_FILES = "tests/journeys/test_working_with_files.py::"
JOURNEY_ENDS = "tests/journeys/test_interruptions.py::"
LOOP = "tests/kernel/test_loop.py::"
STAGES = "tests/kernel/test_stages.py::"
KILLS = "tests/soak/kernel/test_kills.py::"
PAIRING = "tests/kernel/test_pairing.py::"
LOCAL = "tests/service/test_local.py::"
RUNNER = "tests/agent/test_runner.py::"
SCHEDULING = "tests/agent/test_scheduling.py::"
INTERRUPTING = "tests/agent/test_interrupting.py::"
SOCKET = "tests/service/test_socket.py::"
REMOTE = "tests/service/test_remote.py::"
DAEMON = "tests/frontends/cli/test_daemon.py::"
REPLAY = "tests/agent/test_replay.py::"
SETTINGS = "tests/agent/test_settings.py::"
SESSIONS = "tests/agent/test_sessions.py::"
CATALOGUE = "tests/agent/test_catalogue.py::"
FILE_TOOLS = "tests/agent/test_file_tools.py::"
SHELL = "tests/agent/test_shell_tool.py::"
WINDOW = "tests/context/test_engine.py::"
MOVES = "tests/kernel/test_window_state.py::"
MEMORY = "tests/memory/test_memory.py::"
SEARCH = "tests/memory/test_search.py::"
PROJECTION = "tests/memory/test_projection.py::"
MEMORY_KILLS = "tests/soak/memory/test_kills.py::"
JOURNEY_MEMORY = "tests/journeys/test_memory.py::"
MEMORY_LINES = "tests/frontends/cli/test_memory.py::"
EMBEDDERS = "tests/retrieval/test_embedders.py::"
AUDIT = "tests/store/test_audit.py::"
RECORDS = "tests/store/test_records.py::"
SECRETS = "tests/store/test_secrets.py::"
FILES = "tests/sdk/test_files.py::"
WEIGHTS = "tests/providers/test_weights.py::"
WHEELS = "tests/providers/test_wheels.py::"
EMBEDDED = "tests/providers/test_embedded.py::"
LINE = "tests/frontends/cli/test_command_line.py::"
SETTINGS_LINES = "tests/frontends/cli/test_settings_lines.py::"
CHAT = "tests/frontends/cli/test_chat.py::"
APPROVING = "tests/kernel/test_approving.py::"
READING = "tests/agent/shell/test_cases.py::"
REBUILDING = "tests/agent/shell/test_rebuilding.py::"
GENERATED = "tests/soak/approvals/test_generated.py::"
ESCAPING = "tests/process/test_sandbox_escapes.py::"
HANDS = "tests/frontends/cli/test_safe_hands.py::"
TASKS = "tests/journeys/test_coding_tasks.py::"
DECIDING = "tests/kernel/test_deciding.py::"
RULES = "tests/agent/test_rules.py::"
TRUST = "tests/agent/test_trust.py::"
JOBS = "tests/agent/test_jobs.py::"
SEGMENTS = "tests/wire/test_segments.py::"
ARENA = "tests/wire/test_arena.py::"
RING = "tests/wire/test_ring.py::"
MANIFESTS = "tests/plugins/test_reading.py::"
LOCKING = "tests/plugins/test_catalogue.py::"
INSTALLING = "tests/plugins/test_install.py::"
PLUGIN_LINES = "tests/frontends/cli/test_plugins.py::"
ESCAPES = "tests/frontends/cli/test_escapes.py::"
CODE = "tests/builtin/code/test_code.py::"
TERMINALS = "tests/builtin/terminals/test_terminals.py::"
GIT = "tests/builtin/git/test_git.py::"
REDACT = "tests/builtin/redact/test_redact.py::"
BUILTIN = "tests/builtin/test_all.py::"
SPAWN = "tests/agent/test_spawn.py::"
SHARED_OUT = "tests/journeys/test_sub_agents.py::"


class Requirement(NamedTuple):
    """One promise; `tests` are node ids without parameters."""

    id: str
    sentence: str
    tests: tuple[str, ...]


def _one(name: str, sentence: str, *tests: str) -> Requirement:
    return Requirement(name, sentence, tests)


PRINCIPLES = (
    _one(
        "P1",
        "No message list leaves the process with a call without its result or a result without its call.",
        PAIRING + "test_whatever_comes_in_calls_and_results_come_out_paired",
        WINDOW + "test_any_conversation_at_any_budget_gives_a_right_request_or_names_the_sizes",
        WINDOW + "test_a_recorded_coding_session_is_right_at_every_budget",
        LOCAL + "test_an_export_of_a_turn_that_is_not_over_still_pairs_every_call",
        KILLS + "test_a_killed_process_loses_nothing_and_repeats_nothing",
    ),
    _one(
        "P2",
        "A block has one id for its bytes; a fork has new ids and says where it comes from.",
        "tests/store/test_blobs.py::test_the_same_bytes_have_one_id_and_one_file",
        JOURNEY_ENDS + "test_a_fork_goes_its_own_way_and_the_first_session_too",
    ),
    _one(
        "P3",
        "What leaves the window leaves a marker; what was not looked at is not called absent.",
        WINDOW + "test_the_marker_says_how_many_when_what_about_and_where_it_is",
        FILE_TOOLS + "test_what_a_search_did_not_look_at_is_said",
        LOOP + "test_a_large_result_goes_to_a_blob_with_head_tail_and_the_way_to_the_rest",
        "tests/agent/test_kernel_tools.py::test_a_block_is_paged_to_its_end",
    ),
    _one(
        "P4",
        "A call is on disk before it runs; after a crash its outcome is unknown, and it never runs again.",
        LOOP + "test_intent_is_on_disk_before_the_effect",
        JOURNEY_ENDS + "test_after_a_crash_the_turn_is_continued_and_nothing_runs_twice",
        KILLS + "test_a_killed_process_loses_nothing_and_repeats_nothing",
    ),
    _one(
        "P5",
        "Without somebody to approve, what needs approval is denied.",
        LOOP + "test_without_an_approver_what_needs_a_yes_is_denied",
        JOURNEY_FILES + "test_without_anybody_to_answer_nothing_is_changed",
        JOURNEY_FILES + "test_an_unanswered_question_is_a_no_after_its_time",
    ),
    _one(
        "P6",
        "All state lies under the home, private, without secrets in logs; nothing is fetched without a yes.",
        AUDIT + "test_only_the_owner_can_look_into_the_log_and_its_folders",
        LOCAL + "test_nothing_is_touched_until_a_session_is_opened",
        SECRETS + "test_a_broken_file_is_an_error_that_does_not_show_what_is_in_it",
        LINE + "test_nothing_is_fetched_without_a_yes",
    ),
    _one(
        "P8",
        "Failure is a result with a reason, never a success with an apology.",
        FILE_TOOLS + "test_what_cannot_be_done_is_a_failure_with_its_reason",
        SHELL + "test_a_failed_command_is_a_failure_with_its_output",
        LOOP + "test_a_tool_that_breaks_is_a_result_and_not_an_exception",
    ),
)

KERNEL = (
    _one(
        "K1",
        "Every accepted input gets exactly one terminal event.",
        RUNNER + "test_inputs_are_answered_in_order_one_turn_at_a_time",
        RUNNER + "test_a_message_sent_at_the_very_end_of_a_turn_is_answered",
    ),
    _one(
        "K2",
        "A repeated message id is answered once, also after a restart.",
        RUNNER + "test_a_repeated_message_id_is_answered_once_also_after_a_restart",
    ),
    _one(
        "K3",
        "The queue holds 256 inputs and says when it is full.",
        RUNNER + "test_the_queue_has_a_bound_and_says_so",
    ),
    _one(
        "K4",
        "A stop ends what runs, gives every call its result and keeps the queue.",
        JOURNEY_ENDS + "test_a_stop_kills_the_command_that_runs_and_its_children",
        RUNNER + "test_a_stop_keeps_the_queue_and_the_next_input_goes_behind_it",
        LOOP + "test_a_cancelled_call_gets_its_result_and_the_turn_its_closing_message",
    ),
    _one(
        "K5",
        "Neighbouring parallel-safe calls run together, any other alone; results come in call order.",
        LOOP + "test_parallel_safe_neighbours_run_together_and_others_alone",
        LOOP + "test_every_call_of_a_reply_gets_one_result_in_call_order",
    ),
    _one(
        "K6",
        "A third identical call is answered and not run; normal work is not hindered.",
        LOOP + "test_a_third_identical_call_is_answered_and_not_run",
        LOOP + "test_edit_and_test_in_turn_is_normal_work",
    ),
    _one(
        "K7",
        "Cut arguments never run.",
        LOOP + "test_a_reply_cut_at_its_token_limit_runs_nothing",
        "tests/kernel/test_arguments.py::test_every_cut_object_is_refused_and_called_cut",
    ),
    _one(
        "K8",
        "Limits of steps and money end the turn with a message that names the limit and its setting.",
        LOOP + "test_the_step_limit_names_itself_and_its_setting",
        LOCAL + "test_money_has_a_cap_a_turn_and_a_day_over_sessions",
    ),
    _one(
        "K9",
        "Arguments are checked against a schema that is never fetched.",
        "tests/sdk/test_schema.py::test_a_reference_is_never_fetched",
        "tests/sdk/test_schema.py::test_no_schema_and_no_arguments_raise",
    ),
    _one(
        "K10",
        "Five hundred tools cost a bounded share of a request; names are stable.",
        CATALOGUE + "test_closed_tools_cost_one_line_a_plugin",
        CATALOGUE + "test_names_are_the_same_whatever_the_order_of_registration",
    ),
    _one(
        "K11",
        "Stages may deny, rewrite and answer; a failing guard denies.",
        STAGES + "test_a_failing_guard_denies_and_a_failing_watcher_passes",
        STAGES + "test_rewritten_arguments_are_validated_again",
    ),
    _one(
        "K12",
        "An edit changes nothing outside the replaced text.",
        "tests/sdk/test_edits.py::test_nothing_outside_the_replaced_text_changes",
        "tests/sdk/test_edits.py::test_an_edit_does_what_the_case_file_says",
    ),
    _one(
        "K13",
        "A command leaves no process behind and sees no key.",
        SHELL + "test_what_a_command_leaves_in_the_background_is_gone_when_it_ends",
        SHELL + "test_a_command_sees_the_declared_environment_and_no_key",
    ),
    _one(
        "K14",
        "What lies outside the folder or belongs to limnos is neither read nor written.",
        FILES + "test_what_lies_outside_is_neither_read_nor_written_nor_listed",
        FILES + "test_the_state_of_limnos_is_refused_also_through_links_and_left_out_of_walks",
        FILES + "test_pipes_sockets_and_devices_are_refused_at_once",
    ),
    _one(
        "A1",
        "A yes covers exactly what was shown: arguments and folder.",
        JOURNEY_FILES + "test_a_folder_that_was_replaced_after_the_yes_is_not_touched",
        JOURNEY_FILES + "test_edited_arguments_that_do_not_fit_change_nothing",
    ),
    _one(
        "A2",
        "Always stores one rule that holds after a restart and covers nothing else.",
        JOURNEY_FILES + "test_always_asks_once_for_this_file_and_still_for_another_after_a_restart_too",
    ),
    _one(
        "A3",
        "Only the owner answers, and a turn has the rights that all its speakers have.",
        LOOP + "test_only_the_owner_answers",
        RUNNER + "test_a_guest_who_speaks_into_the_owners_turn_takes_its_rights_away_for_the_rest",
        RUNNER + "test_continuing_a_guests_turn_does_not_make_it_the_owners",
    ),
    _one(
        "A5",
        "Deny beats ask beats allow, and every part of a command line must be covered.",
        DECIDING + "test_deny_beats_ask_beats_allow_in_any_order",
        DECIDING + "test_every_part_must_be_covered",
        DECIDING + "test_what_goes_beyond_its_program_is_allowed_by_its_exact_words_only",
        DECIDING + "test_a_rule_made_for_a_program_covers_no_other_file_of_that_name",
    ),
    _one(
        "A6",
        "A hard denial holds in every mode, against every rule and every edit.",
        DECIDING + "test_a_hard_denial_holds_in_every_mode_and_against_every_rule",
        APPROVING + "test_an_edit_cannot_make_a_hard_denial_pass",
    ),
    _one(
        "A7",
        "Without a sandbox every command asks, in every mode.",
        APPROVING + "test_without_a_sandbox_it_asks_in_yolo_and_nothing_can_be_stored",
    ),
    _one(
        "A8",
        "Rules stay, are checked against their examples, and let nothing pass while they cannot be read.",
        RULES + "test_a_kept_rule_is_there_for_another_session_and_only_its_owner_can_read_it",
        RULES + "test_a_rule_that_cannot_be_what_was_meant_is_an_error_with_its_place",
        APPROVING + "test_rules_that_cannot_be_read_let_nothing_pass",
        HANDS + "test_always_for_this_persona_stops_the_next_identical_question_after_a_restart",
    ),
    _one(
        "A9",
        "Everyday work runs unasked under rules for it, and no dangerous step among it gets through.",
        TASKS + "test_an_everyday_task_runs_without_a_question",
        TASKS + "test_no_dangerous_step_gets_through_between_harmless_ones",
    ),
    _one(
        "A10",
        "A workspace is data until it is trusted, and trust is bound to the folder itself.",
        TRUST + "test_trust_ends_when_the_folder_is_replaced",
        TRUST + "test_trust_reaches_no_folder_above_or_below",
        TRUST + "test_a_guide_that_leads_out_of_the_folder_is_none",
        HANDS + "test_a_guide_reaches_the_model_only_once_the_folder_is_trusted",
    ),
    _one(
        "A11",
        "Background commands end with their session.",
        JOBS + "test_no_job_outlives_its_session",
        JOBS + "test_a_stopped_job_ends_with_all_it_started",
    ),
    _one(
        "A4",
        "A question is answered once.",
        RUNNER + "test_a_question_is_answered_once_and_nothing_else_can_be_answered",
    ),
)

SESSION = (
    _one(
        "S1",
        "One process writes a session; a second is told and may read.",
        AUDIT + "test_a_second_process_is_told_that_the_session_is_in_use",
        LOCAL + "test_an_open_session_is_in_use_here_and_in_another_process",
    ),
    _one(
        "S2",
        "A damaged file loses the damaged records only, and says so.",
        RECORDS + "test_a_file_cut_anywhere_loses_at_most_the_record_it_is_cut_in",
        RECORDS + "test_a_damaged_byte_costs_at_most_its_own_record_and_is_noticed",
        RECORDS + "test_a_damaged_file_is_read_as_the_case_file_says",
    ),
    _one(
        "S3",
        "A full disk ends the turn with the fix, and the turn goes on later.",
        JOURNEY_ENDS + "test_a_full_disk_in_mid_turn_fails_with_the_fix_and_the_turn_goes_on_later",
        AUDIT + "test_a_full_disk_is_an_error_with_a_fix_and_leaves_no_half_line",
    ),
    _one(
        "S4",
        "Every listener hears every event once and in order, from wherever it begins.",
        RUNNER + "test_two_listeners_hear_the_same_and_each_event_once",
    ),
    _one(
        "S5",
        "Replay confirms every kind of turn and finds any change of the record.",
        REPLAY + "test_every_kind_of_turn_is_confirmed",
        REPLAY + "test_a_changed_byte_is_found_wherever_it_is",
        REPLAY + "test_a_record_that_contradicts_itself_is_found_without_checksums",
    ),
    _one(
        "S6",
        "The list tells each session's state and title, however long its file.",
        SESSIONS + "test_a_session_that_nobody_writes_is_listed_in_its_state",
        SESSIONS + "test_a_session_that_is_open_somewhere_says_whether_it_works_or_waits",
        SESSIONS + "test_the_title_is_the_last_one_given_else_the_first_line_said",
    ),
    _one(
        "S7",
        "An export can be read back with every call and result.",
        LOCAL + "test_an_export_can_be_read_back_with_every_call_and_result",
    ),
    _one(
        "W1",
        "No request is larger than its budget; what cannot be cut to it names the sizes and the setting.",
        WINDOW + "test_any_conversation_at_any_budget_gives_a_right_request_or_names_the_sizes",
        WINDOW + "test_a_fixed_part_that_is_larger_than_the_budget_names_the_sizes_and_the_setting",
    ),
    _one(
        "W2",
        "Between prunes a request begins with the bytes of the one before; a prune leaves its target.",
        WINDOW + "test_between_prunes_a_request_begins_with_the_bytes_of_the_one_before",
        WINDOW + "test_a_prune_leaves_room_up_to_its_target",
    ),
    _one(
        "W3",
        "The question of the current turn is always there.",
        WINDOW + "test_the_first_question_of_a_long_turn_stays_also_beside_an_injected_one",
    ),
    _one(
        "W4",
        "The work of a render does not grow with the session.",
        WINDOW + "test_the_work_of_a_render_does_not_grow_with_the_session",
    ),
)

MEMORIES = (
    _one(
        "M1",
        "Every unit has one holder, also after kill -9 in mid-move, and a rebuild gives the same.",
        MOVES + "test_a_sunk_unit_leaves_the_window_and_a_recalled_one_stands_at_its_place_in_time",
        PROJECTION + "test_a_running_session_a_catch_up_and_a_rebuild_give_the_same_rows",
        PROJECTION + "test_holders_are_where_the_fold_has_the_units",
        MEMORY_KILLS + "test_a_process_killed_while_it_sinks_and_recalls_leaves_one_holder_for_each_unit",
    ),
    _one(
        "M2",
        "What has sunk is found by a question and comes back whole, also after a restart and in a sub-agent.",
        JOURNEY_MEMORY + "test_what_sank_is_found_by_a_question_and_comes_back_whole",
        JOURNEY_MEMORY + "test_a_session_goes_on_with_its_window_after_a_restart",
        JOURNEY_MEMORY + "test_a_sub_agent_finds_what_left_its_own_window",
        JOURNEY_MEMORY + "test_after_many_steps_the_twelfth_is_recalled_by_question_and_by_itself",
    ),
    _one(
        "M3",
        "What an earlier session knew is put beside an input once, as a copy that is marked as data.",
        JOURNEY_MEMORY + "test_a_later_session_is_given_what_an_earlier_one_knew_and_may_ask_for_the_whole",
        SEARCH + "test_automatic_recall_gives_good_ones_only_and_none_twice",
    ),
    _one(
        "M4",
        "What memory gave is never remembered again.",
        SEARCH + "test_what_memory_gave_is_never_looked_for_again",
        PROJECTION + "test_what_memory_put_beside_an_input_has_no_row",
    ),
    _one(
        "M5",
        "A search moves nothing, says why each hit came, and says *no record* of exact tokens only.",
        SEARCH + "test_searching_moves_nothing_and_counts_who_was_found",
        SEARCH + "test_an_exact_token_ranks_above_all_else_and_says_so",
        SEARCH + "test_only_an_exact_token_that_occurs_nowhere_is_said_to_be_missing",
    ),
    _one(
        "M6",
        "A damaged, newer or full database costs the memory and never the session.",
        MEMORY + "test_a_damaged_database_is_set_aside_filled_again_and_the_person_is_told",
        MEMORY + "test_a_session_runs_on_without_a_memory_that_a_newer_limnos_wrote",
        MEMORY + "test_a_full_disk_costs_the_memory_and_not_the_session",
    ),
    _one(
        "M7",
        "Vectors of different embedders are never compared, and a damaged one is made again.",
        SEARCH + "test_vectors_of_another_embedder_are_made_again_and_a_damaged_one_too",
    ),
    _one(
        "M8",
        "A person sees for a turn why each unit stayed, sank or came back, and moves units by hand.",
        MEMORY_LINES + "test_explain_says_for_each_unit_why_it_stayed_or_sank",
        MEMORY_LINES + "test_the_chat_shows_pins_and_recalls",
    ),
    _one(
        "T20",
        "Untrusted words stay untrusted wherever they surface: cold, recalled, rebuilt, in a fork.",
        MEMORY + "test_untrusted_words_taint_what_is_made_from_them_wherever_it_lies",
        MEMORY + "test_what_a_stranger_or_a_sub_agent_that_read_him_says_is_untrusted",
    ),
)

SERVICE = (
    _one(
        "D1",
        "An interrupt sets a turn of a lower level aside, never in a tool, and every turn comes to its end.",
        INTERRUPTING + "test_an_interrupt_goes_before_the_reply_that_is_on_its_way",
        INTERRUPTING + "test_a_running_tool_is_never_cut_short_and_never_run_again",
        INTERRUPTING + "test_an_equal_or_lower_one_waits_for_the_end",
        INTERRUPTING + "test_interrupts_pile_up_and_every_turn_comes_to_its_end_in_turn",
        INTERRUPTING + "test_one_that_was_just_resumed_is_safe_for_two_seconds",
        SCHEDULING + "test_over_a_random_day_every_input_is_taken_once_and_no_turn_starves",
    ),
    _one(
        "D2",
        "A turn that was set aside survives the end of the process, and no call of it is run twice.",
        INTERRUPTING + "test_what_was_set_aside_survives_the_end_of_the_process",
        KILLS + "test_turns_that_are_set_aside_survive_a_kill",
    ),
    _one(
        "D3",
        "Every input has one terminal event, also one that never got a turn.",
        INTERRUPTING + "test_what_waited_or_was_taken_back_has_its_terminal_event",
        INTERRUPTING + "test_closing_ends_what_was_set_aside_and_tells_what_waited",
    ),
    _one(
        "D4",
        "A client of a daemon that loses its connection misses nothing and hears nothing twice.",
        REMOTE + "test_a_client_that_lost_its_connection_misses_nothing_and_hears_nothing_twice",
        REMOTE + "test_a_reader_that_is_too_slow_is_told_and_catches_up_from_the_disk",
    ),
    _one(
        "D5",
        "A daemon says when it is ready, cleans up, and when it was killed its turn can be continued.",
        DAEMON + "test_up_says_ready_and_down_ends_it_and_cleans_up",
        DAEMON + "test_a_daemon_that_was_killed_leaves_nothing_in_the_way_and_its_turn_can_be_continued",
        DAEMON + "test_a_second_daemon_of_one_home_says_so",
    ),
)

THREATS = (
    _one(
        "T8",
        "No plugin answers a question.",
        SOCKET + "test_a_plugin_gives_inputs_of_a_bounded_level_and_never_answers_a_question",
        SOCKET + "test_what_is_for_persons_is_refused_to_a_plugin",
    ),
    _one(
        "T9",
        "Only the owner's processes that know the token of this start are let in.",
        SOCKET + "test_the_folder_and_the_socket_are_their_owners_alone",
        SOCKET + "test_another_user_is_refused_by_the_folder_and_without_it_by_the_system_s_word",
        SOCKET + "test_the_token_of_an_earlier_start_counts_no_more",
        SOCKET + "test_what_limnos_started_itself_is_no_person",
    ),
    _one(
        "T10",
        "Claimed roles, unknown methods, replayed and late answers are refused and written down.",
        SOCKET + "test_a_hello_that_claims_a_role_is_refused",
        SOCKET + "test_an_unknown_method_is_refused_and_written_down",
        SOCKET + "test_an_answer_counts_once_for_its_question_only",
        SOCKET + "test_an_answer_to_a_finished_question_is_refused",
    ),
    _one(
        "T11",
        "Malformed frames get an error or end their connection; the daemon lives and its memory stays flat.",
        SOCKET + "test_malformed_frames_are_answered_with_an_error_and_the_daemon_lives",
        SOCKET + "test_a_hundred_thousand_malformed_frames_leave_the_memory_flat",
        SOCKET + "test_a_frame_that_is_too_large_ends_its_connection_only",
    ),
    _one(
        "T12",
        "What runs is what was shown, byte for byte, and every shape of a command line is decided as listed.",
        READING + "test_all_shared_cases_are_decided_as_expected",
        READING + "test_all_cases_of_our_own_are_decided_as_expected",
        REBUILDING + "test_every_spelling_of_a_plain_command_runs_as_it_was_shown",
        REBUILDING + "test_generated_commands_run_as_they_were_shown",
        REBUILDING + "test_nothing_that_bash_starts_is_missing_among_the_parts",
        GENERATED + "test_fifty_thousand_commands_run_as_they_were_shown",
        GENERATED + "test_five_hundred_thousand_commands_run_as_they_were_shown",
    ),
    _one(
        "T13",
        "A turn has at most ten questions, and no length, control or cut hides an effect in one.",
        APPROVING + "test_at_most_ten_questions_are_asked_in_a_turn",
        APPROVING + "test_a_question_lists_its_parts_and_what_is_special_about_each",
        "tests/frontends/cli/test_approvals.py::test_a_question_names_what_where_to_whom_and_from_where",
    ),
    _one(
        "T14",
        "What differs from what a person said yes to does not run.",
        APPROVING + "test_what_a_yes_rests_on_must_be_the_same_when_it_runs",
        APPROVING + "test_a_stage_that_rewrites_what_a_person_edited_stops_the_call",
    ),
    _one(
        "T15",
        "Nothing that limnos runs or edits reaches what it is held to: its state, its rules, its settings.",
        "tests/sdk/test_files_state.py::test_the_state_is_refused_under_a_second_name_of_its_folder",
        "tests/sdk/test_files_state.py::test_a_state_that_is_not_there_yet_cannot_be_made_not_even_in_another_case",
        "tests/sdk/test_files_state.py::test_without_the_identity_a_second_name_would_open_the_state",
        ESCAPING + "test_no_attempt_gets_out",
        HANDS + "test_a_command_of_the_agent_may_not_change_rules_trust_or_settings",
    ),
    _one(
        "T16",
        "A call that failed twice with nothing changed in between is not run a third time.",
        APPROVING + "test_a_command_that_fails_twice_in_vain_is_not_run_a_third_time",
    ),
    _one(
        "T31",
        "A plugin can neither resize shared memory, nor change what was copied from it or what others read.",
        SEGMENTS + "test_a_plugin_cannot_resize_a_segment_but_can_write_it",
        ARENA + "test_a_range_that_is_not_within_its_lease_is_refused",
        ARENA + "test_a_plugin_that_writes_after_release_changes_no_copy",
        ARENA + "test_a_copy_stays_what_it_was_while_the_plugin_goes_on_writing",
        ARENA + "test_five_thousand_leases_and_releases_agree_with_a_plain_model",
        RING + "test_a_plugin_cannot_change_what_others_read",
        RING + "test_no_reader_can_make_the_writer_wait",
        RING + "test_racing_readers_have_every_event_whole_and_in_order_or_counted",
    ),
    _one(
        "T35",
        "Links and names that are swapped during a file operation lead nowhere outside.",
        "tests/sdk/test_files_races.py::test_nothing_outside_is_touched_whenever_the_swap_comes",
        "tests/sdk/test_files_races.py::test_a_door_by_path_is_fooled_by_the_same_swap",
        "tests/soak/files/test_swaps.py::test_swaps_by_another_process_lead_nowhere",
        "tests/soak/files/test_swaps.py::test_a_thousand_swaps_lead_nowhere",
        "tests/soak/files/test_swaps.py::test_a_hundred_thousand_swaps_lead_nowhere",
    ),
    _one(
        "T36",
        "Special, huge and oddly named files are refused, or handled within bounds.",
        "tests/sdk/test_files_special.py::test_what_is_no_plain_file_is_neither_opened_nor_waited_for",
        "tests/sdk/test_files_special.py::test_a_sparse_file_of_a_terabyte_is_refused_unread",
        "tests/sdk/test_files_special.py::test_a_folder_of_a_million_names_is_listed_walked_and_searched_in_part_and_says_so",
        "tests/sdk/test_files_special.py::test_names_that_no_disk_takes_are_failures",
    ),
    _one(
        "T37",
        "No command changes, makes, moves or replaces a name that decides what runs later.",
        ESCAPING + "test_no_attempt_gets_out",
        ESCAPING + "test_there_are_more_than_two_hundred_attempts_with_different_names",
        ESCAPING + "test_without_protection_names_are_changed_and_made",
        ESCAPING + "test_without_stand_ins_absent_names_are_made",
        ESCAPING + "test_without_a_mount_of_its_own_the_folder_of_git_is_replaced",
    ),
    _one(
        "T42",
        "A model file that is wrong, cut, too large, badly packed or redirected is refused; nothing is run.",
        WEIGHTS + "test_a_wrong_file_is_removed_and_both_hashes_are_named",
        WEIGHTS + "test_a_digest_that_is_none_never_becomes_a_path",
        WEIGHTS + "test_a_beginning_of_something_else_is_thrown_away",
        WEIGHTS + "test_more_bytes_than_the_file_has_are_refused",
        WEIGHTS + "test_nothing_of_a_wheel_is_ever_run",
        WEIGHTS + "test_a_redirect_to_plain_http_is_not_followed",
        WHEELS + "test_an_odd_wheel_is_refused_by_name",
        WHEELS + "test_a_million_entries_are_refused_without_reading_the_table",
        WHEELS + "test_a_thousandfold_growth_is_refused",
    ),
    _one(
        "T43",
        "A hostile model file ends its child process, not the kernel, and the child holds no secret.",
        EMBEDDED + "test_files_with_mutated_headers_are_refused",
        EMBEDDED + "test_ten_thousand_files_with_mutated_headers_are_refused",
        EMBEDDED + "test_a_file_that_is_no_model_is_refused",
        EMBEDDED + "test_the_child_has_no_secret_no_network_and_no_port",
    ),
)

COMMAND_LINE = (
    _one(
        "C1",
        "stdout holds data only.",
        LINE + "test_the_answer_is_exact_on_stdout_and_nothing_else_is",
        LINE + "test_every_list_has_records_for_programs",
    ),
    _one(
        "C2",
        "A closed pipe is no failure.",
        LINE + "test_a_closed_pipe_is_not_a_failure",
        LINE + "test_a_reader_that_is_gone_before_the_end_is_141",
    ),
    _one(
        "C3",
        "A signal closes the turn before the program ends.",
        LINE + "test_a_signal_closes_the_turn_and_keeps_the_session",
        CHAT + "test_sigterm_closes_the_turn_and_gives_the_terminal_back",
    ),
    _one(
        "C4",
        "A wrong word is exit 2 with a suggestion and nothing on stdout.",
        LINE + "test_a_wrong_word_is_exit_2_with_a_fix_and_nothing_on_stdout",
    ),
    _one(
        "C5",
        "Piped output has no escape codes, boxes or trailing blanks.",
        LINE + "test_piped_output_has_no_escapes_no_boxes_and_no_blanks_at_the_end",
    ),
    _one(
        "C6",
        "Colours can be switched off.",
        "tests/frontends/cli/test_run.py::test_colours_are_the_sixteen_and_can_be_switched_off",
    ),
    _one(
        "C7",
        "No encoding makes it crash.",
        LINE + "test_no_encoding_makes_it_crash",
    ),
    _one(
        "C8",
        "Without a terminal nothing is asked.",
        LINE + "test_without_a_terminal_nothing_is_asked_and_the_exit_code_says_so",
    ),
    _one(
        "C9",
        "A dash stands for stdin.",
        LINE + "test_a_task_comes_from_stdin_with_a_dash",
    ),
    _one(
        "C10",
        "Secrets come from stdin or a file and are never shown.",
        SETTINGS_LINES + "test_a_secret_comes_from_stdin_or_a_file_and_is_never_shown",
    ),
    _one(
        "C11",
        "Help fits a screen, has examples first, and wins anywhere.",
        LINE + "test_help_anywhere_wins_and_fits_a_screen",
        LINE + "test_a_command_explains_itself_with_examples_first",
    ),
    _one(
        "C12",
        "Completion knows every command.",
        LINE + "test_completion_knows_every_command",
    ),
    _one(
        "C14",
        "Settings come from the first of five layers that says something; explain tells which.",
        SETTINGS + "test_the_first_layer_that_says_something_wins",
        SETTINGS + "test_a_workspace_may_not_choose_models_modes_or_caps",
    ),
    _one(
        "C15",
        "A read-only home is tolerated by what only reads.",
        LINE + "test_a_read_only_home_is_tolerated_by_what_only_reads",
        LOCAL + "test_a_home_that_cannot_be_written_says_so_and_nothing_stays_locked",
    ),
    _one(
        "C16",
        "An error says what, why and what to do; a traceback lies in the log.",
        LINE + "test_an_unknown_error_is_two_lines_and_its_traceback_lies_in_the_log",
        SETTINGS + "test_a_slip_in_the_file_is_an_error_that_names_it_and_the_way_out",
    ),
    _one(
        "C18",
        "A change of state names the next command.",
        SETTINGS_LINES + "test_settings_are_set_explained_and_unset_with_the_next_command",
    ),
    _one(
        "C20",
        "Widths are counted in cells.",
        "tests/frontends/cli/test_cells.py::test_a_grapheme_takes_the_cells_that_terminals_give_it",
    ),
    _one(
        "C21",
        "The terminal's cursor stands at the caret.",
        "tests/frontends/cli/test_screen.py::test_the_cursor_stands_at_the_caret",
    ),
    _one(
        "C22",
        "A paste never submits.",
        CHAT + "test_a_paste_never_submits_and_is_sent_whole",
    ),
    _one(
        "C23",
        "The terminal is given back as it was.",
        CHAT + "test_the_cooked_mode_is_back_after_the_chat",
    ),
    _one(
        "C24",
        "Text of models, tools and file names sends no sequences to the terminal.",
        ESCAPES + "test_nothing_that_a_terminal_obeys_or_hides_gets_through",
        CHAT + "test_text_of_the_model_cannot_send_sequences",
    ),
    _one(
        "C25",
        "Copying gives the source.",
        CHAT + "test_copy_puts_the_source_on_the_clipboard",
    ),
    _one(
        "C26",
        "JSON output is one event a line and ends with the reason.",
        LINE + "test_json_is_one_event_a_line_and_ends_with_the_reason",
        LINE + "test_json_ends_with_a_terminal_event_also_when_no_turn_began",
    ),
    _one(
        "C27",
        "Accessible mode moves no cursor and announces itself.",
        "tests/frontends/cli/test_linechat.py::test_accessible_mode_announces_itself_and_moves_no_cursor",
    ),
)

PLUGINS = (
    _one(
        "G1",
        "What is wrong with a manifest is said with file, line and field, several faults at once.",
        MANIFESTS + "test_what_is_wrong_is_said_with_line_and_field",
        MANIFESTS + "test_a_damaged_manifest_is_never_a_crash",
        MANIFESTS + "test_many_faults_are_listed_at_once_up_to_ten",
    ),
    _one(
        "G2",
        "Plugins that cannot stand together are an error before anything starts, a cycle with its path.",
        "tests/plugins/test_order.py::test_everything_that_is_wrong_is_listed_together",
        "tests/plugins/test_order.py::test_the_order_respects_all_needs_and_a_cycle_is_said_exactly_where_there_is_one",
    ),
    _one(
        "G3",
        "A plugin that changed is down until a person accepted the change.",
        LOCKING + "test_a_changed_plugin_is_down_until_a_person_accepts_it",
        PLUGIN_LINES + "test_a_changed_plugin_is_down_and_lock_shows_what_changed",
    ),
    _one(
        "G4",
        "A plugin that is broken stops no start.",
        LOCKING + "test_a_broken_lock_stops_no_start_and_no_plugin_of_limnos",
        LOCKING + "test_a_plugin_that_nobody_accepted_does_not_start_and_says_so",
    ),
    _one(
        "G5",
        "A plugin is installed whole or not at all, and a person sees before what it may do.",
        INSTALLING + "test_archives_of_the_shared_cases_are_installed_whole_or_refused_whole",
        INSTALLING + "test_an_install_that_is_killed_leaves_one_whole_version_that_was_accepted",
        PLUGIN_LINES + "test_a_plugin_is_shown_with_what_it_may_do_before_a_person_says_yes",
    ),
    _one(
        "G6",
        "The agent itself changes no plugin, and without a person nothing is accepted.",
        PLUGIN_LINES + "test_a_command_of_the_agent_changes_no_plugin",
        PLUGIN_LINES + "test_without_a_person_nothing_is_installed_accepted_or_removed",
    ),
)

TOOLS = (
    _one(
        "B1",
        "Code that runs unasked changes nothing but its scratch folder, sends nothing, and is bounded.",
        CODE + "test_the_folder_can_be_read_by_its_names_and_not_changed",
        CODE + "test_no_byte_leaves_the_machine_nor_reaches_a_server_on_it",
        CODE + "test_endless_code_is_killed_with_what_it_started",
        CODE + "test_memory_is_bounded_also_as_files",
        CODE + "test_who_writes_too_much_is_killed_and_the_scratch_folder_emptied",
        CODE + "test_without_a_sandbox_every_call_asks_in_every_mode",
    ),
    _one(
        "B2",
        "What is typed into a terminal is shown and asked, and no terminal outlives its session.",
        TERMINALS + "test_typing_asks_unless_a_rule_allows_exactly_this_text",
        TERMINALS + "test_a_shell_asks_in_every_mode_and_a_command_as_run_command_does",
        TERMINALS + "test_it_runs_in_the_sandbox_of_commands",
        TERMINALS + "test_in_a_session_it_is_asked_shown_and_ends_with_the_session",
    ),
    _one(
        "B3",
        "Looking at a repository runs nothing of it that could do harm, and no argument is ever an option.",
        GIT + "test_what_the_repository_is_set_up_to_run_runs_nowhere_it_could_do_harm",
        GIT + "test_no_argument_is_ever_an_option",
        GIT + "test_a_folder_that_only_says_it_is_a_worktree_shows_nothing",
    ),
    _one(
        "B4",
        "A commit holds what its question showed, and no hook runs.",
        GIT + "test_a_question_shows_exactly_what_the_commit_will_hold",
        GIT + "test_in_a_session_a_commit_is_asked_and_what_changed_meanwhile_is_not_committed",
        GIT + "test_hooks_do_not_run_and_the_question_says_so",
    ),
    _one(
        "B5",
        "With redact enabled no result shows the model or the log a secret that the scanner knows.",
        REDACT + "test_a_secret_in_a_result_reaches_neither_the_model_nor_the_disk",
        REDACT + "test_nothing_on_the_disk_holds_what_a_result_held",
        REDACT + "test_a_killed_guard_lets_nothing_pass_until_it_is_back",
        REDACT + "test_it_is_off_until_a_person_enables_it_and_says_so",
    ),
    _one(
        "B6",
        "A plugin costs nothing until one of its tools is used.",
        BUILTIN + "test_no_plugin_starts_whose_tools_are_not_used",
        BUILTIN + "test_a_model_is_offered_the_same_tools_as_ever_and_one_line_for_each_other_plugin",
        BUILTIN + "test_an_embedded_model_reads_the_same_prompt_as_without_the_other_plugins",
    ),
)

SUB_AGENTS = (
    _one(
        "F1",
        "A sub-agent has a context of its own, and hands back its last message, cut at 20,000 characters.",
        SPAWN + "test_a_sub_agent_works_on_its_own_and_hands_back_its_last_message",
        SPAWN + "test_what_a_sub_agent_does_is_in_the_log_and_not_in_the_conversation",
        SPAWN + "test_an_answer_that_is_too_long_is_cut_and_the_rest_can_be_read",
    ),
    _one(
        "F2",
        "What a sub-agent does passes the same gate and the same stages, and questions name it.",
        SPAWN + "test_its_calls_are_asked_about_under_its_name_and_a_no_is_a_no",
        SPAWN + "test_questions_of_neighbours_come_one_at_a_time",
        SPAWN + "test_the_stages_see_its_calls_and_may_deny_them",
    ),
    _one(
        "F3",
        "Sub-agents are at most two deep and three at once, and end at their budget or at the turn's caps.",
        SPAWN + "test_three_work_at_once_and_a_fourth_waits",
        SPAWN + "test_a_sub_agent_has_sub_agents_and_these_have_none",
        SPAWN + "test_a_sub_agent_ends_at_its_budget_and_says_so",
        SPAWN + "test_its_tokens_count_in_the_turn_and_the_caps_of_the_turn_hold",
    ),
    _one(
        "F4",
        "However a turn ends, its sub-agents end with it, and each of their calls has one result.",
        SPAWN + "test_stopping_the_turn_stops_the_sub_agents_and_every_call_has_one_result",
        SPAWN + "test_what_a_dead_process_left_of_sub_agents_is_closed_wherever_it_died",
        SHARED_OUT + "test_closing_the_kernel_leaves_no_process_of_a_sub_agent_and_no_call_without_a_result",
        KILLS + "test_a_process_killed_while_sub_agents_work_loses_nothing_and_repeats_nothing",
    ),
    _one(
        "F5",
        "The embedded model's prompt is the same byte for byte unless sub-agents are asked for.",
        SPAWN + "test_the_embedded_model_is_told_of_sub_agents_only_when_asked_to",
    ),
)

REQUIREMENTS = (
    *PRINCIPLES,
    *KERNEL,
    *SESSION,
    *MEMORIES,
    *SERVICE,
    *THREATS,
    *COMMAND_LINE,
    *PLUGINS,
    *TOOLS,
    *SUB_AGENTS,
)
