"""A summary from a model behind HTTP: what is sent, what is tried again, and where the key is not."""

import asyncio
import builtins
import logging
import pickle
import threading
import time
import traceback
from typing import Any

import pytest

from dsh_session.compaction import ChatSummariser, Summary, acompact_region, compact_region
from dsh_session.compaction.summarisers.chat import _seconds
from dsh_session.core.errors import CompactionError

from .chat_server import error, never, raw, reply, serving, slowly, truncated
from .sessions import brackets, errors, talked, text

KEY = "sk-do-not-tell-1234567890"


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("URL", "MODEL", "KEY"):
        monkeypatch.delenv(f"DSH_SESSION_CHAT_{name}", raising=False)


def summariser(server: Any, **options: Any) -> ChatSummariser:
    given = {"base_url": server.url, "model": "small", "key": KEY, "timeout": 5.0, "backoff": 0.01, **options}
    return ChatSummariser(**given)


def refused(call: Any, *args: Any) -> CompactionError:
    with pytest.raises(CompactionError) as caught:
        call(*args)
    return caught.value


# What is sent, and what comes back.


def test_a_transcript_is_sent_with_the_instructions_and_the_answer_is_the_summary() -> None:
    with serving(reply("  They talked.\n")) as server:
        told = summariser(server, max_tokens=99)("User: hello")
    assert told == Summary("They talked.", "127.0.0.1", "small", 99)
    ((path, headers, body),) = server.requests
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert (body["model"], body["max_tokens"], body["stream"]) == ("small", 99, False)
    system, user = body["messages"]
    assert system["role"] == "system"
    assert user == {"role": "user", "content": "<conversation>\nUser: hello\n</conversation>"}


def test_without_a_key_none_is_sent() -> None:
    with serving(reply()) as server:
        ChatSummariser(base_url=server.url, model="small")("x")
    assert "Authorization" not in server.requests[0][1]


def test_arguments_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(reply()) as server:
        monkeypatch.setenv("DSH_SESSION_CHAT_URL", f"{server.url}/")
        monkeypatch.setenv("DSH_SESSION_CHAT_MODEL", "from-env")
        monkeypatch.setenv("DSH_SESSION_CHAT_KEY", KEY)
        told = ChatSummariser(provider="mine", instructions="Be brief.")("x")
    ((path, headers, body),) = server.requests
    assert (path, headers["Authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert body["messages"][0]["content"] == "Be brief."
    assert (told.provider, told.model) == ("mine", "from-env")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"base_url": "http://localhost"},
        {"model": "m"},
        {"base_url": "localhost:80", "model": "m"},
        {"base_url": "ftp://localhost", "model": "m"},
        {"base_url": "http://", "model": "m"},
        {"base_url": f"http://user:{KEY}@localhost/v1", "model": "m"},
    ],
)
def test_what_cannot_be_asked_is_refused_at_once(options: Any) -> None:
    found = refused(lambda: ChatSummariser(**options))
    assert found.code == "COMPACTION_SETUP"
    assert KEY not in str(found)


def test_a_query_in_the_url_is_dropped() -> None:
    assert ChatSummariser(base_url=f"http://localhost/v1?api-key={KEY}#x", model="m").base_url == "http://localhost/v1"


def test_a_transcript_that_was_cut_in_a_character_can_be_sent() -> None:
    with serving(reply()) as server:
        summariser(server)("a \ud83d b")
    assert "a \ufffd b" in server.requests[0][2]["messages"][1]["content"]


def test_it_compacts_a_session_and_is_named_in_the_log() -> None:
    log = talked(3)
    with serving(reply()) as server:
        result = compact_region(log, 1, 8, summariser(server))
        record = log.events[result.summary_seq].data
        assert (record["provider"], record["model"], record["maxTokens"]) == ("127.0.0.1", "small", 8192)
        again = asyncio.run(acompact_region(log, result.replacement_seq, log.surface.nodes[4], summariser(server)))
    assert again.summary == [text("They talked.")]
    assert server.requests[0][2]["messages"][1]["content"].startswith("<conversation>\nUser: Question 1?")


def test_it_can_be_called_where_an_event_loop_runs() -> None:
    async def inside(server: Any) -> Summary:
        return summariser(server)("x")

    with serving(reply()) as server:
        assert asyncio.run(inside(server)).content == "They talked."


# What is tried again.


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504])
def test_a_busy_server_is_asked_again(status: int) -> None:
    with serving(error(status), error(status), reply()) as server:
        assert summariser(server)("x").content == "They talked."
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 301, 204])
def test_what_will_not_get_better_is_not_asked_again(status: int) -> None:
    with serving(raw(b"", status=status, Location="http://127.0.0.1:9/"), reply()) as server:
        found = refused(summariser(server), "x")
    assert (found.code, len(server.requests)) == ("SUMMARY_HTTP", 1)
    assert f"answered {status}" in str(found)


def test_what_stays_busy_is_given_up() -> None:
    with serving(error(500, "out of order")) as server:
        found = refused(summariser(server, retries=2), "x")
    assert len(server.requests) == 3
    assert (found.code, found.message) == (
        "SUMMARY_HTTP",
        f"{server.url} answered 500: out of order, after 3 attempts",
    )


def test_pauses_grow_and_a_server_may_ask_for_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    with serving(
        error(500), error(500), error(429, Retry_After="7"), error(429, Retry_After="9999"), reply()
    ) as server:
        chat = summariser(server, retries=4, backoff=1.0)
        with monkeypatch.context() as patched:
            patched.setattr("dsh_session.compaction.summarisers.chat.asyncio.sleep", sleep)
            assert chat("x").content == "They talked."
    assert 1 <= slept[0] <= 1.25
    assert 2 <= slept[1] <= 2.5
    assert slept[2:] == [7, 60]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, None), ("3", 3), ("0.5", 0.5), ("-1", 0), ("soon", None), ("", None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0)],
)
def test_a_wait_is_seconds_or_a_date(header: str | None, seconds: float | None) -> None:
    assert _seconds(header) == seconds


def test_a_date_to_come_is_waited_for() -> None:
    assert (_seconds("Fri, 21 Oct 2996 07:28:00 GMT") or 0) > 60
    assert _seconds("21 Oct 2996 07:28:00 -0000") is not None


@pytest.mark.parametrize("bad", [truncated, never, slowly])
def test_an_answer_that_does_not_come_whole_is_asked_for_again(bad: Any) -> None:
    with serving(bad, reply()) as server:
        assert summariser(server, timeout=0.3)("x").content == "They talked."
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("bad", "code"), [(truncated, "SUMMARY_HTTP"), (never, "SUMMARY_TIMEOUT"), (slowly, "SUMMARY_TIMEOUT")]
)
def test_an_answer_that_never_comes_whole_is_given_up_in_time(bad: Any, code: str) -> None:
    began = time.monotonic()
    with serving(bad) as server:
        found = refused(summariser(server, timeout=0.2, retries=1), "x")
    assert found.code == code
    assert time.monotonic() - began < 4


def test_a_server_that_is_not_there_is_an_error_of_ours() -> None:
    with serving(reply()) as server:
        url = server.url
    found = refused(ChatSummariser(base_url=url, model="m", retries=0, backoff=0.01), "x")
    assert (found.code, found.message) == ("SUMMARY_HTTP", f"{url} could not be asked (ConnectError)")


# What is no summary.


NO_SUMMARIES: dict[str, tuple[Any, str]] = {
    "empty": (reply(""), "SUMMARY_EMPTY"),
    "blank": (reply("  \n"), "SUMMARY_EMPTY"),
    "null": (reply(None), "SUMMARY_EMPTY"),
    "a list": (reply(["parts"]), "SUMMARY_EMPTY"),
    "cut off": (reply("They tal", finish="length"), "SUMMARY_TRUNCATED"),
    "no JSON": (raw(b"no json"), "SUMMARY_BAD_ANSWER"),
    "no object": (raw(b"[]"), "SUMMARY_BAD_ANSWER"),
    "no choice": (raw(b'{"choices": []}'), "SUMMARY_BAD_ANSWER"),
    "no message": (raw(b'{"choices": [{"message": null}]}'), "SUMMARY_BAD_ANSWER"),
    "no text": (raw(b"\xff\xfe"), "SUMMARY_BAD_ANSWER"),
    "too deep": (raw(b"[" * 100_000), "SUMMARY_BAD_ANSWER"),
}


@pytest.mark.parametrize(("answer", "code"), NO_SUMMARIES.values(), ids=NO_SUMMARIES)
def test_what_is_no_summary_is_refused_and_not_asked_for_again(answer: Any, code: str) -> None:
    log = talked(2)
    nodes = list(log.surface.nodes)
    with serving(answer) as server:
        assert refused(compact_region, log, 1, 8, summariser(server)).code == code
    assert len(server.requests) == 1
    assert list(log.surface.nodes) == nodes
    assert brackets(log) == ["start", "end"]
    assert code in errors(log)[0]


def test_a_summary_longer_than_its_source_is_refused_by_the_bracket() -> None:
    log = talked(2)
    with serving(reply("x" * 10_000)) as server:
        assert refused(compact_region, log, 1, 8, summariser(server)).code == "COMPACTION_NOT_SMALLER"


# Cancelling.


def test_a_call_can_be_cancelled_from_another_thread() -> None:
    log = talked(2)
    with serving(never) as server:
        chat = summariser(server, timeout=30)
        timer = threading.Timer(0.3, chat.cancel)
        timer.start()
        began = time.monotonic()
        found = refused(compact_region, log, 1, 8, chat)
        assert time.monotonic() - began < 5
        timer.join()
    assert found.code == "SUMMARY_CANCELLED"
    assert errors(log) == ["SUMMARY_CANCELLED: the summary was cancelled"]
    assert not chat._running


def test_a_task_can_be_cancelled() -> None:
    async def cancelled(server: Any) -> None:
        task = asyncio.create_task(acompact_region(log, 1, 8, summariser(server, timeout=30)))
        await asyncio.sleep(0.3)
        task.cancel()
        await task

    log = talked(2)
    with serving(never) as server, pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled(server))
    assert brackets(log) == ["start", "end"]


def test_an_interrupted_wait_does_not_leave_the_request_running(monkeypatch: pytest.MonkeyPatch) -> None:
    from concurrent.futures import Future

    wait = Future.result

    def interrupted(self: Any, timeout: float | None = None) -> Any:
        if threading.current_thread() is threading.main_thread() and timeout is None:
            deadline = time.monotonic() + 5
            while not server.requests and time.monotonic() < deadline:
                time.sleep(0.01)
            raise KeyboardInterrupt
        return wait(self, timeout)

    with serving(never) as server:
        chat = summariser(server, timeout=30)
        with monkeypatch.context() as patched:
            patched.setattr(Future, "result", interrupted)
            with pytest.raises(KeyboardInterrupt):
                chat("x")
        assert not [thread for thread in threading.enumerate() if thread.name == "dsh-session-summary"]
        assert not chat._running


def test_cancelling_what_does_not_run_does_nothing() -> None:
    ChatSummariser(base_url="http://localhost", model="m").cancel()


# The key.


TELLTALES: dict[str, Any] = {
    "it quotes the key": error(401, f"Incorrect API key provided: {KEY}"),
    "it quotes the header": error(500, f"Bearer {KEY} is not known"),
    "it says nothing else": raw(KEY.encode(), status=400),
    "its error is a text": raw(f'{{"error": "{KEY}"}}'.encode(), status=403),
    "its summary quotes it": reply(f"The key is {KEY}."),
    "an empty summary": reply(""),
    "a cut answer": truncated,
    "no answer": never,
}


@pytest.mark.parametrize("answer", TELLTALES.values(), ids=TELLTALES)
def test_the_key_is_in_no_log_no_event_no_error_and_no_repr(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    log = talked(3)
    shown = []
    with serving(answer) as server, caplog.at_level(logging.DEBUG):
        chat = summariser(server, timeout=0.3, retries=1)
        try:
            compact_region(log, 1, 8, chat)
        except CompactionError as found:
            shown += traceback.format_exception(found)
            shown += [repr(found), str(found), repr(found.__cause__), repr(found.__context__), repr(vars(found))]
            shown.append(repr(pickle.dumps(found)))
    shown += [repr(chat), str(chat), f"{chat}", repr(vars(chat)), log.to_jsonl().decode(), caplog.text]
    assert server.requests[0][1]["Authorization"] == f"Bearer {KEY}"
    assert not [piece for piece in shown if KEY in piece]


def test_the_key_is_not_pickled() -> None:
    with pytest.raises(TypeError):
        pickle.dumps(ChatSummariser(base_url="http://localhost", model="m", key=KEY))


def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "httpx":
            raise ImportError(name)
        return found(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    missing = refused(lambda: ChatSummariser(base_url="http://localhost", model="m"))
    assert (missing.code, "dsh-session[chat]" in str(missing)) == ("COMPACTION_SETUP", True)
