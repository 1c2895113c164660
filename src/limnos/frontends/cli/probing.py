"""Whether the server of a configured model is there: its list of models is asked for, and nothing else."""

import asyncio

from limnos.agent.adapters.remote import route_of
from limnos.agent.models import check_name
from limnos.agent.settings import Environment, load
from limnos.egress.errors import EgressError, StatusError
from limnos.providers.discovery import list_models
from limnos.providers.refusals import network_error, status_error

_ANSWER_SECONDS = 2.0


def ask_server(environment: Environment, name: str) -> None:
    """Ask the server of the model PROVIDER/MODEL; one that does not list its models is there too.

    Raises SettingsError for settings that lead nowhere, ModelError when nothing answers within two seconds or
    the key is refused.
    """
    settings = load(environment)
    check_name(name, settings.providers)
    provider, _, model = name.partition("/")
    route = route_of(provider, model, settings, environment)
    try:
        asyncio.run(list_models(route, _ANSWER_SECONDS))
    except StatusError as error:
        if error.status in (401, 403):
            raise status_error(route, error.status, b"") from None
    except EgressError as error:
        raise network_error(route, error) from None
