"""Hooks in the settings of agents: what is added, and that everything else stays as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from harness.coding_agents import PATIENCE, Machine, cursor_fields, machine_at
from harness.rows import each_row
from harness.served import Served
from harness.waiting import wait_until
from memorybase_client import Client
from memorybase_client import errors as client_errors
from memorybase_client.coding_agents import install
from memorybase_client.coding_agents.agents import SCRIPT, words_in_plugin
from memorybase_client.coding_agents.events import FLOW
from memorybase_client.coding_agents.install import HookConfig
from typer.testing import CliRunner, Result

import memorybase
from memorybase import cli
from memorybase.cli import doctor
from memorybase.core.settings import Settings

pytestmark = pytest.mark.usefixtures("machine")

CONFIG = HookConfig(url="http://127.0.0.1:1", key="mb_the-secret-key")
NAMES = ["claude-code", "codex", "cursor"]
EVENTS = {
    "claude-code": ["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"],
    "codex": ["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"],
    "cursor": ["sessionStart", "beforeSubmitPrompt", "afterAgentResponse", "preCompact", "stop", "sessionEnd"],
}


def settings_of(name: str) -> Path:
    return install.find_agent(name).settings


def put(name: str) -> Any:
    install.install(install.find_agent(name), CONFIG)
    return json.loads(settings_of(name).read_text())


def others(name: str) -> str:
    """Settings with hooks of another program, formatted as no program would."""
    command = {"command": "echo 'é'", "timeout": 9}
    entry = command if name == "cursor" else {"matcher": "Bash", "hooks": [{"type": "command", **command}]}
    event = EVENTS[name][2]
    return json.dumps({"theme": "dark", "version": 1, "hooks": {event: [entry], "Other": []}}, indent=7) + "\n\n"


@each_row("name", NAMES)
def test_a_fresh_installation_adds_each_hook_once_and_can_be_taken_back(name: str) -> None:
    settings = put(name)
    commands = [inner["command"] for each in settings["hooks"].values() for inner in each[0].get("hooks", each)]

    assert list(settings["hooks"]) == EVENTS[name]
    assert len(commands) == len(EVENTS[name])
    assert all(str(SCRIPT) in command and command.endswith(f" {name} || exit 0") for command in commands)
    assert "secret" not in settings_of(name).read_text()
    assert install.uninstall(install.find_agent(name))
    assert not settings_of(name).exists()
    assert not install.uninstall(install.find_agent(name))


def test_the_hooks_are_those_that_each_agent_knows() -> None:
    claude, codex, cursor = (put(name)["hooks"] for name in NAMES)

    assert claude["SessionStart"][0]["matcher"] == "startup|clear|compact"
    assert claude["Stop"][0].keys() == {"hooks"}
    assert codex["SessionEnd"][0]["hooks"][0]["timeout"] == 3  # Codex warns of more
    assert json.loads(settings_of("cursor").read_text())["version"] == 1
    assert cursor["stop"][0].keys() == {"command", "timeout"}


@each_row("name", NAMES)
def test_hooks_of_others_stay_and_uninstalling_restores_the_file(name: str) -> None:
    path = settings_of(name)
    path.parent.mkdir()
    path.write_text(others(name))
    path.chmod(0o644)
    put(name)
    settings = put(name)  # again, which must not take our entries for the original
    before = json.loads(others(name))
    event = EVENTS[name][2]

    assert settings["theme"] == "dark"
    assert settings["hooks"][event][0] == before["hooks"][event][0]
    assert len(settings["hooks"][event]) == 2
    assert install.uninstall(install.find_agent(name))
    assert path.read_text() == others(name)
    assert path.stat().st_mode & 0o777 == 0o644


def test_the_plugin_of_opencode_runs_the_hook_and_is_removed_whole() -> None:
    opencode = install.find_agent("opencode")
    install.install(opencode, CONFIG)
    written = opencode.settings.read_text()
    install.install(opencode, CONFIG)

    assert words_in_plugin(written)[3:] == [str(SCRIPT), "--config", str(install.config_file()), "opencode"]
    assert "secret" not in written
    assert opencode.settings.read_text() == written
    assert install.uninstall(opencode)
    assert not opencode.settings.exists()
    assert not install.uninstall(opencode)


def test_another_plugin_of_that_name_is_not_replaced() -> None:
    opencode = install.find_agent("opencode")
    opencode.settings.parent.mkdir(parents=True)
    opencode.settings.write_text("export const Mine = async () => ({})\n")

    with pytest.raises(client_errors.InvalidRequest, match="is not the plugin of memorybase"):
        install.install(opencode, CONFIG)
    assert not install.config_file().exists()
    assert not install.uninstall(opencode)
    assert opencode.settings.exists()


def test_uninstalling_restores_the_line_ends_of_windows() -> None:
    path = settings_of("cursor")
    path.parent.mkdir()
    path.write_bytes(b'{\r\n  "version": 1\r\n}\r\n')
    put("cursor")
    install.uninstall(install.find_agent("cursor"))

    assert path.read_bytes() == b'{\r\n  "version": 1\r\n}\r\n'


@each_row("name", NAMES)
def test_installing_twice_changes_nothing(name: str) -> None:
    once = put(name)
    path = settings_of(name)
    added = once["hooks"][EVENTS[name][0]] + json.loads(others(name))["hooks"][EVENTS[name][2]]
    path.write_text(json.dumps(once | {"hooks": once["hooks"] | {EVENTS[name][0]: added}}))  # another program's hook
    before = path.read_text()
    put(name)

    assert path.read_text() == before


def test_hooks_that_name_the_script_where_it_was_before_run_and_are_replaced(machine: Machine) -> None:
    machine.install("cursor", CONFIG.url, CONFIG.key)
    path = settings_of("cursor")
    installed = path.read_text()
    former = Path(memorybase.__file__).parent / "integrations" / "coding_agents" / "hook.py"
    path.write_text(installed.replace(str(SCRIPT), str(former)))
    answer = machine.run("cursor", "beforeSubmitPrompt", prompt="Hello", **cursor_fields("s-1", "g-1"))
    put("cursor")

    assert json.loads(answer) == {"continue": True}
    assert len(machine.spooled()) == 1
    assert path.read_text() == installed


@each_row("name", NAMES)
def test_uninstalling_keeps_what_was_added_since(name: str) -> None:
    path = settings_of(name)
    path.parent.mkdir()
    path.write_text(others(name))
    settings = put(name)
    path.write_text(json.dumps(settings | {"theme": "light"}))
    install.uninstall(install.find_agent(name))

    assert json.loads(path.read_text()) == json.loads(others(name)) | {"theme": "light"}


def test_a_hook_of_others_in_our_group_stays() -> None:
    settings = put("claude-code")
    foreign = {"type": "command", "command": "echo"}
    settings["hooks"]["Stop"][0]["hooks"].append(foreign)
    settings_of("claude-code").write_text(json.dumps(settings))
    install.uninstall(install.find_agent("claude-code"))

    assert json.loads(settings_of("claude-code").read_text()) == {"hooks": {"Stop": [{"hooks": [foreign]}]}}


@each_row("name", NAMES)
@each_row(
    ("text", "reason"),
    [
        ('{"hooks": {', "is not valid JSON"),
        ('{"a": 1} // a comment', "is not valid JSON"),
        ('{"model": 1, "model": 2}', "'model' occurs twice"),
        ("[]", "must be an object"),
        ('{"hooks": []}', "must be an object whose `hooks` is an object"),
        ('{"hooks": {"Stop": {}}}', "must have a list of objects in hooks.Stop"),
        ('{"hooks": {"Stop": ["echo"]}}', "must have a list of objects in hooks.Stop"),
    ],
)
def test_settings_that_cannot_be_understood_are_not_touched(tmp_path: Path, name: str, text: str, reason: str) -> None:
    with machine_at(tmp_path):
        path = settings_of(name)
        path.parent.mkdir()
        path.write_text(text)

        with pytest.raises(client_errors.InvalidRequest, match=reason):
            put(name)
        with pytest.raises(client_errors.InvalidRequest, match=reason):
            install.uninstall(install.find_agent(name))
        assert path.read_text() == text
        assert not install.config_file().exists()


def test_an_empty_file_and_a_link_are_settings(machine: Machine) -> None:
    kept = machine.home / "dotfiles.json"
    kept.write_text("")
    path = settings_of("claude-code")
    path.parent.mkdir()
    path.symlink_to(kept)
    put("claude-code")

    assert path.is_symlink()
    assert "hooks" in json.loads(kept.read_text())
    install.uninstall(install.find_agent("claude-code"))
    assert (path.is_symlink(), kept.read_text()) == (True, "")


def test_the_configuration_is_private_and_goes_with_the_last_agent() -> None:
    for name in NAMES:
        put(name)
    path = install.config_file()
    config = json.loads(path.read_text())

    assert path.stat().st_mode & 0o777 == 0o600
    assert (config["url"], config["key"], config["flow"], config["tools"]) == (CONFIG.url, CONFIG.key, FLOW, False)
    for name in NAMES:
        assert path.exists()
        install.uninstall(install.find_agent(name))
        install.forget_configuration()
    assert not path.exists()


def test_the_configuration_stays_while_an_agents_settings_cannot_be_read() -> None:
    put("codex")
    put("cursor")
    settings_of("cursor").write_text("{")
    install.uninstall(install.find_agent("codex"))
    install.forget_configuration()

    assert install.config_file().exists()


def test_agents_are_found_where_their_variables_say(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = machine.home / "elsewhere"
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(elsewhere / name))
    put("claude-code")
    put("codex")

    assert (elsewhere / "CLAUDE_CONFIG_DIR/settings.json").exists()
    assert (elsewhere / "CODEX_HOME/hooks.json").exists()
    assert (elsewhere / "XDG_CONFIG_HOME/memorybase/hooks.json").exists()
    assert (elsewhere / "XDG_STATE_HOME/memorybase/hooks/spool").is_dir()


# The command line


def run(*words: str, **options: Any) -> Result:
    return CliRunner().invoke(cli.app, ["hooks", *words], **options)


def test_the_command_creates_the_flow_and_its_memory_base(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYBASE_API_KEY", served.api.secret)
    result = run("install", "claude-code", "--url", served.url, "--flow", "mine", "--end-user", "ann", "--tools")
    again = run("install", "cursor", "--recall", "off")  # the rest as before
    unknown = run("install", "cursor", "--recall", "sometimes")
    config = json.loads(install.config_file().read_text())
    (base,) = served.api.get("/memories", flow_id="mine")["items"]

    assert (result.exit_code, again.exit_code, unknown.exit_code) == (0, 0, 2)
    assert all(word in unknown.output for word in ("--recall", "sometimes", "first", "each", "off"))
    assert "first prompt" in result.output
    assert "Added 5 hooks to" in result.output
    assert served.api.secret not in result.output + again.output
    assert base["capture"] == "all"
    assert (config["url"], config["key"]) == (served.url, served.api.secret)
    assert [config[name] for name in ("flow", "end_user", "tools", "recall")] == ["mine", "ann", True, "off"]
    removed = [run("uninstall", name).output for name in ("claude-code", "cursor", "codex")]
    assert [line.split()[0] for line in removed[:2]] == ["Removed", "Removed"]
    assert "has no hooks of ours" in removed[2]
    assert not install.config_file().exists()


def test_a_flow_that_an_attempt_left_incomplete_redacts_and_no_other_is_changed(served: Served) -> None:
    with Client(served.url, served.api.secret) as client:
        for flow in ("incomplete", "chosen", "used"):
            client.put_flow(flow, name=flow)
        client.update_flow("chosen", secrets="keep")
        client.capture_run("used", session_id="s", messages=[{"role": "user", "content": "Hello"}])
        for flow in ("incomplete", "chosen", "used"):
            install.prepare_flow(client, flow)
        rules = [client.get_flow(flow).secrets for flow in ("incomplete", "chosen", "used")]
        bases = [client.list_memory_bases(flow_id=flow).page().total for flow in ("incomplete", "chosen", "used")]

    assert rules == ["redact", "keep", None]
    assert bases == [1, 1, 1]


@each_row(("before", "after"), [(True, "first"), (False, "off"), ("each", "each")])
def test_the_command_keeps_the_mode_also_of_a_configuration_from_before_the_modes(
    served: Served, monkeypatch: pytest.MonkeyPatch, machine: Machine, before: object, after: str
) -> None:
    monkeypatch.setenv("MEMORYBASE_API_KEY", served.api.secret)
    machine.install("codex", served.url, served.api.secret)
    machine.configure(recall=before)
    result = run("install", "codex")

    assert result.exit_code == 0
    assert json.loads(install.config_file().read_text())["recall"] == after


def test_a_key_is_asked_for_where_none_is_known(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORYBASE_API_KEY", raising=False)
    result = run("install", "codex", "--url", served.url, input=f"{served.api.secret}\n")

    assert result.exit_code == 0
    assert served.api.secret not in result.output
    assert json.loads(install.config_file().read_text())["key"] == served.api.secret
    assert "/hooks" in result.output  # Codex must be told to trust them


def test_nothing_is_installed_if_memory_refuses_the_key_or_the_agent_is_unknown(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYBASE_API_KEY", "wrong")
    refused = run("install", "codex", "--url", served.url)
    unknown = run("install", "vim", "--url", served.url)

    assert isinstance(refused.exception, client_errors.Unauthorized)
    assert "claude-code, codex, gemini, cursor" in str(unknown.exception)
    assert not settings_of("codex").exists()
    assert not install.config_file().exists()


# doctor


def checked() -> doctor.Result:
    (check,) = [check for check in doctor.CHECKS if check.name == "coding agents"]
    return check.run(doctor.DoctorContext(Settings(), None))


def test_doctor_says_when_this_machine_captured_last(machine: Machine, served: Served) -> None:
    without = checked()
    machine.install("codex", served.url, served.api.secret)
    before = checked()
    transcript = machine.home / "rollout.jsonl"
    line = {"type": "event_msg", "payload": {"type": "user_message", "message": "Hello"}}
    transcript.write_text(json.dumps(line))  # without an end of the line
    fields = {"session_id": "s-1", "transcript_path": str(transcript), "cwd": "/work"}
    machine.run("codex", "PreCompact", **fields, trigger="auto")
    machine.settle()
    after = checked()
    machine.configure(key="wrong")
    transcript.write_text(json.dumps(line) + "\n" + json.dumps(line).replace("Hello", "Hello again"))
    machine.run("codex", "PreCompact", **fields, trigger="auto")
    wait_until(lambda: "error" in machine.status()["codex"], PATIENCE, "memory refused the key")
    failing = checked()

    assert (without.ok, without.detail) == (True, "no hooks on this machine")
    assert (before.ok, before.detail) == (True, "codex: no capture yet, recall first")
    assert (after.ok, after.detail) == (True, "codex: last capture from this machine a moment ago, recall first")
    assert not failing.ok
    assert "codex: memory answered 401" in failing.detail
    assert "1 event not sent yet" in failing.detail
    assert "memorybase hooks install" in failing.fix


def test_doctor_reports_hooks_whose_installation_is_gone() -> None:
    put("cursor")
    path = settings_of("cursor")
    before = checked()
    path.write_text(path.read_text().replace("/hook.py", "/hook.py.gone/memorybase/../hook.py"))

    assert before.ok
    assert "name files of an installation that is gone" in checked().detail


def test_doctor_reports_a_missing_configuration() -> None:
    put("cursor")
    install.config_file().unlink()

    assert not checked().ok
    assert "is missing or damaged" in checked().detail
