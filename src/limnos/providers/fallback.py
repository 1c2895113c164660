"""A chain of models: the next one answers when the one before can't."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager

from limnos.kernel.errors import ModelError, ModelRefusedError, ModelUnavailableError
from limnos.kernel.model import Delta, Finish, Model, Notice, Request


class Fallback:
    """The first of `models` that can answer answers.

    The next one is tried when a model is unavailable or busy, was refused, or sent nothing but an error.
    A refused one is out for the life of this object. Never after the first delta: an answer is of one
    model. A request that is too large or wrong goes straight up, since it concerns the request.
    """

    def __init__(self, models: Sequence[Model]) -> None:
        if not models:
            raise ValueError("a chain needs at least one model")
        self._models = tuple(models)
        self._refused: dict[int, ModelRefusedError] = {}
        self._current = self._models[0]

    @property
    def name(self) -> str:
        """The name of the model that answered last, at first of the first one."""
        return self._current.name

    @property
    def context_tokens(self) -> int:
        """The window of that model."""
        return self._current.context_tokens

    def count_tokens(self, text: str) -> int:
        """As that model counts."""
        return self._current.count_tokens(text)

    async def close(self) -> None:
        """Close all of them."""
        for model in self._models:
            await model.close()

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Yield the reply of the first model that begins one.

        Raises ModelUnavailableError, or ModelRefusedError when every model was refused; both name all
        that were tried and why each failed.
        """
        failures: list[ModelError] = []
        for place, model in enumerate(self._models):
            started = False
            async with aclosing(self._begun(place, request, failures)) as deltas:
                async for delta in deltas:
                    if not isinstance(delta, Notice):
                        self._current, started = model, True
                    yield delta
            if started:
                return
        raise self._all_failed(failures)

    async def _begun(self, place: int, request: Request, failures: list[ModelError]) -> AsyncGenerator[Delta]:
        """The reply of one model; nothing, and one more failure, when it does not begin one."""
        if place in self._refused:
            failures.append(self._refused[place])
            return
        first = True
        try:
            async with _opened(self._models[place], request) as deltas:
                async for delta in deltas:
                    if first and isinstance(delta, Finish) and delta.reason == "error":
                        failures.append(_only_an_error(self._models[place], delta))
                        return
                    first = first and isinstance(delta, Notice)
                    yield delta
        except ModelRefusedError as error:
            self._refused[place] = error
            failures.append(error)
        except ModelUnavailableError as error:
            failures.append(error)

    def _all_failed(self, failures: Sequence[ModelError]) -> ModelError:
        if len(failures) == 1:
            return failures[0]
        told = "; ".join(f"{number}. {error.what}" for number, error in enumerate(failures, 1))
        all_refused = all(isinstance(error, ModelRefusedError) for error in failures)
        kind = ModelRefusedError if all_refused else ModelUnavailableError
        return kind(f"none of {len(failures)} models answered: {told}", failures[0].fix)


def _only_an_error(model: Model, finish: Finish) -> ModelUnavailableError:
    return ModelUnavailableError(f"{model.name} sent an error: {finish.detail}", "try again later")


@asynccontextmanager
async def _opened(model: Model, request: Request) -> AsyncGenerator[AsyncIterator[Delta]]:
    """The stream of `model`, closed whatever happens."""
    deltas = model.stream(request)
    try:
        yield deltas
    finally:
        if isinstance(deltas, AsyncGenerator):
            await deltas.aclose()
