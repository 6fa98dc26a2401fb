"""A log of messages as a container: its camera pictures are members, and one text tells what else it says."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from driveflow.errors import BrokenDataError
from ingestion.containers import RECORDING_TEXT, Member
from ingestion.recordings.definitions import UNDECODABLE
from ingestion.recordings.log_survey import LogSurvey
from ingestion.recordings.meanings import bytes_of
from ingestion.recordings.messages import Loss, Message, MessageLog
from ingestion.recordings.raw_pictures import encode_pixels, pixels_of
from ingestion.recordings.topics import Topics


@dataclass(slots=True)
class LogContainer:
    """A log whose pictures are members.

    Pictures are numbered in the order of the log, over all topics; the text comes after the last of them.
    """

    log: MessageLog
    max_members: int
    _text: bytes = field(default=b"", repr=False)
    _text_number: int = -1

    def members(self) -> Sequence[Member]:
        """Return a member for every picture, the text, and a refused one for every part of the log that is lost.

        Raises:
            BrokenDataError: recording_broken, or archive_too_large where there are too many pictures.
        """
        survey = LogSurvey()
        losses: list[Loss] = []
        for message in self.log.messages(losses):
            survey.add(message)
            if survey.pictures > self.max_members:
                raise BrokenDataError("archive_too_large", f"more than {self.max_members:,} pictures")
        members = survey.members()
        self._text, self._text_number = survey.text(), survey.pictures
        members.append(Member(self._text_number, RECORDING_TEXT, len(self._text)))
        lost = [Member(-1, "", loss.byte_count, loss.reason, loss.detail) for loss in losses]
        return [*members, *lost]

    def read(self, numbers: Collection[int]) -> Iterator[tuple[int, bytes | BrokenDataError]]:
        """Yield the members at `numbers`; going through the log ends with the last of them."""
        wanted = set(numbers)
        pictures = wanted - {self._text_number}
        topics = Topics()
        number = 0
        for message in self.log.messages([]) if pictures else ():
            if topics.kind(message.topic) not in {"picture", "raw picture"}:
                continue
            if number in pictures:
                yield number, _picture(message, topics)
                pictures.discard(number)
                if not pictures:
                    break
            number += 1
        if self._text_number in wanted:
            yield self._text_number, self._text


def _picture(message: Message, topics: Topics) -> bytes | BrokenDataError:
    decode: Callable[[Any], bytes] = bytes_of if topics.kind(message.topic) == "picture" else _encoded
    try:
        return decode(topics.decode(message))
    except BrokenDataError as error:
        return error
    except UNDECODABLE as error:
        return BrokenDataError("recording_bad_message", f"cannot be decoded: {error}")


def _encoded(decoded: Any) -> bytes:  # noqa: ANN401 a class that the definition makes
    return encode_pixels(pixels_of(decoded))
