"""A model is in use only after one real request through it was answered."""

import asyncio
from dataclasses import replace

from limnos.agent.build import home, model_of
from limnos.agent.settings import Environment, Settings
from limnos.kernel.model import Model
from limnos.providers.discovery import round_trip


def answer_seconds(environment: Environment, settings: Settings, name: str) -> float:
    """Seconds that one minimal request to the model `name` took. Raises ModelError and SettingsError."""
    tried = replace(settings, model=name, fallback="")
    return asyncio.run(_try(model_of(home(environment), tried)))


async def _try(model: Model) -> float:
    try:
        return await round_trip(model)
    finally:
        await model.close()
