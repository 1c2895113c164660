"""Who waits for whom at a start, in three forms."""

import xml.etree.ElementTree as ET

from limnos.plugins.graph import as_lines, as_record, as_svg, graph_of
from limnos.plugins.locked import Lock
from limnos.plugins.order import resolve
from tests.plugins.making import manifest


def house() -> Lock:
    """An eager plugin that waits for two others, one of which waits for a third; and one on demand."""
    return resolve(
        [
            manifest("web", needs=("files", "search"), start="eager"),
            manifest("search", ("search",), ("index",)),
            manifest("index", ("index",)),
            manifest("files", ("files",)),
            manifest("mail"),
        ]
    )


def test_the_chain_of_needs_that_a_start_waits_for_is_marked() -> None:
    assert list(as_lines(graph_of(house()))) == [
        "level 1",
        "  files   at start   1  provides files",
        "* index   at start   1  provides index",
        "  mail    on demand  1",
        "level 2",
        "* search  at start   1  needs index of index  provides search",
        "level 3",
        "* web     at start   1  needs files of files, search of search",
        "a start waits for index, search, web: 3",
    ]


def test_measured_times_decide_which_chain_that_is() -> None:
    graph = graph_of(house(), {"files": 900.0, "index": 20.0, "search": 30.4, "web": 100.0, "mail": 5000.0})

    assert graph.path == ("files", "web")
    assert graph.total == 1000.0
    assert list(as_lines(graph))[-1] == "a start waits for files, web: 1000 ms"
    record = as_record(graph)
    assert record["path"] == ["files", "web"]
    assert [one["name"] for one in record["plugins"] if one["critical"]] == ["files", "web"]
    assert record["plugins"][-1]["needs"][0] == {"facility": "files", "plugin": "files"}


def test_plugins_on_demand_keep_no_start_waiting() -> None:
    graph = graph_of(resolve([manifest("a", ("x",)), manifest("b", needs=("x",))]))

    assert graph.path == ()
    assert list(as_lines(graph))[-1] == "a start waits for no plugin: each starts at its first use"
    assert list(as_lines(graph_of(Lock()))) == []


def test_the_picture_is_well_formed_and_has_a_box_and_a_line_for_each() -> None:
    root = ET.fromstring(as_svg(graph_of(house())))
    space = "{http://www.w3.org/2000/svg}"

    assert len(root.findall(f"{space}rect")) == 5
    assert len(root.findall(f"{space}line")) == 3
    assert {"web", "search", "index", "files", "mail"} <= {one.text for one in root.findall(f"{space}text")}
    assert ET.fromstring(as_svg(graph_of(Lock()))).tag == f"{space}svg"
