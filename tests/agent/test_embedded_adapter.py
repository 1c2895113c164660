"""What the fetching of model files sees of the person's environment."""

from pathlib import Path

from limnos.agent.adapters.embedded import for_pip
from limnos.agent.settings import read_environment


def test_pip_sees_its_own_settings_and_the_proxy_but_no_secret(tmp_path: Path) -> None:
    variables = {
        "HOME": str(tmp_path),
        "PATH": "/bin",
        "PIP_INDEX_URL": "https://index.example/simple",
        "HTTPS_PROXY": "http://proxy.example",
        "OPENAI_API_KEY": "sk-canary",
        "LIMNOS_HOME": str(tmp_path),
    }

    seen = for_pip(read_environment(variables))

    assert sorted(seen) == ["HOME", "HTTPS_PROXY", "PATH", "PIP_INDEX_URL"]
