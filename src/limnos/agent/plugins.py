"""The plugins of this limnos: those of the lock, connected to what they may ask of it."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from limnos.agent import deferred
from limnos.agent.settings import Environment
from limnos.agent.workbench import probe
from limnos.kernel.events import JobChanged
from limnos.kernel.seams import Blobs, Clock
from limnos.plugins.catalogue import catalogue
from limnos.plugins.host import Host, Member
from limnos.plugins.locked import Lock, Locked
from limnos.plugins.places import builtin_folders
from limnos.plugins.process import Surroundings
from limnos.plugins.services import Asked, Service, Services
from limnos.plugins.unit import State
