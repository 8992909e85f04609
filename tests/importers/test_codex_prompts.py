"""Which user messages of a rollout a person wrote."""

from typing import Any

import pytest

from dsh_session import Session
from tests.importers.rollouts import Rollout


def said(session: Session) -> list[str]:
    return [event.data["content"][0]["text"] for event in session.events if event.type == "user/message"]


def context(session: Session) -> list[str]:
    return [event.data["content"][0]["text"] for event in session.events if event.type == "context/message"]


def test_an_item_and_the_event_beside_it_are_one_prompt(read_rollout: Any) -> None:
    log = Rollout()
    session = read_rollout(log.meta(), *log.prompt("one"), log.said("assistant", "x"), *log.prompt("two")).session
    assert said(session) == ["one", "two"]


def test_an_event_may_come_before_its_item(read_rollout: Any) -> None:
    log = Rollout()
    session = read_rollout(log.meta(), *reversed(log.prompt("one"))).session
    assert said(session) == ["one"]


def test_a_prompt_without_an_item_is_that_of_the_event(read_rollout: Any) -> None:
    log = Rollout()
    session = read_rollout(log.meta(), log.event("user_message", message="one"), log.said("assistant", "x")).session
    assert said(session) == ["one"]


def test_texts_that_a_publisher_replaced_are_matched_by_their_place(read_rollout: Any) -> None:
    log = Rollout()
    session = read_rollout(
        log.meta(), log.said("user", "[TEXT 3]"), log.event("user_message", message="[MESSAGE 3]")
    ).session
    assert said(session) == ["[TEXT 3]"]


def test_a_prompt_with_images_matches_by_its_text(read_rollout: Any) -> None:
    log = Rollout()
    parts = [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": "data:image/png;base64,aGk="}]
    session = read_rollout(
        log.meta(),
        log.item("message", role="user", content=parts),
        log.settings(),
        log.event("user_message", message="look", images=["x"]),
    ).session
    assert said(session) == ["look"]


@pytest.mark.parametrize(
    "text",
    [
        "<environment_context>\n",
        "# AGENTS.md instructions",
        "<user_instructions>",
        "<turn_aborted>",
        "<skill name='x'>",
    ],
)
def test_what_the_program_wrote_is_context(read_rollout: Any, text: str) -> None:
    log = Rollout()
    imported = read_rollout(log.meta(), log.said("user", text), log.said("user", "typed"), log.said("assistant", "x"))
    assert (context(imported.session), said(imported.session)) == ([text], ["typed"])
    assert imported.findings == ()


def test_a_person_may_write_what_looks_like_the_program(read_rollout: Any) -> None:
    log = Rollout()
    session = read_rollout(log.meta(), *log.prompt("<environment_context> is what I ask about")).session
    assert said(session) == ["<environment_context> is what I ask about"]


def test_a_message_that_no_event_confirms_is_context_and_said(read_rollout: Any) -> None:
    log = Rollout()
    imported = read_rollout(log.meta(), log.said("user", "whose?"), log.said("assistant", "x"), *log.prompt("mine"))
    assert (context(imported.session), said(imported.session)) == (["whose?"], ["mine"])
    assert [(finding.code, finding.line) for finding in imported.findings] == [("UNCONFIRMED_PROMPTS", 2)]


def test_a_finished_item_confirms_a_prompt_and_is_not_counted_twice(read_rollout: Any) -> None:
    """Rollouts in pages write both forms, or the new one alone."""
    log = Rollout()
    item = {"type": "UserMessage", "id": "i", "content": [{"type": "text", "text": "one"}]}
    done = log.event("item_completed", item=item)
    session = read_rollout(
        log.meta(),
        log.said("user", "# AGENTS.md\n"),
        done,
        log.event("user_message", message="one"),
        log.said("assistant", "x"),
    ).session
    assert (said(session), context(session)) == (["one"], ["# AGENTS.md\n"])


def test_one_prompt_twice_is_two_prompts(read_rollout: Any) -> None:
    log = Rollout()
    session = read_rollout(log.meta(), *log.prompt("go"), *log.prompt("go")).session
    assert said(session) == ["go", "go"]


def test_newer_versions_say_of_each_part_whose_it_is(read_rollout: Any) -> None:
    log = Rollout()

    def kinds(*names: str) -> dict[str, Any]:
        return {"internal_chat_message_metadata_passthrough": {"content_item_kinds": list(names)}}

    imported = read_rollout(
        log.meta(),
        log.said("user", "Some notice.", **kinds("environments.notice")),
        log.said("user", "<skill> is a tag that I type.", **kinds("user.text")),
        *log.prompt("And this."),
    )
    said = [event.type for event in imported.session.events if event.surface_op]
    assert said == ["context/message", "user/message", "user/message"]
    assert not imported.findings
