"""The topics of a log: which of them are read, and how their messages are decoded."""

from typing import Any

from ingestion.recordings.definitions import Decoder, UnreadableTopicError, decoder_of, ros_name
from ingestion.recordings.meanings import Kind, kind_of_type
from ingestion.recordings.messages import Message, Topic

_MAX_DECODERS = 500  # each is made of a definition, which takes a while


class Topics:
    """What is known of the topics met so far, each known by all that it says: a log may define one in every chunk."""

    def __init__(self) -> None:
        """Start with no topic."""
        self._kinds: dict[Topic, Kind] = {}
        self._decoders: dict[Topic, Decoder] = {}
        self.unreadable: dict[Topic, str] = {}  # why

    def kind(self, topic: Topic) -> Kind:
        """Return what the messages of `topic` are to us; one that cannot be decoded is nothing, and says why."""
        known = self._kinds.get(topic)
        if known is None:
            known = self._kinds[topic] = self._look(topic)
        return known

    def decode(self, message: Message) -> Any:  # noqa: ANN401 a class that the definition makes
        """Return a message of a topic that has a kind, decoded."""
        return self._decoders[message.topic](message.data)

    def _look(self, topic: Topic) -> Kind:
        kind = kind_of_type(ros_name(topic.type_name))
        if not kind or kind == "video":
            return kind
        if len(self._decoders) >= _MAX_DECODERS:
            self.unreadable[topic] = f"there are more than {_MAX_DECODERS} topics of pictures, boxes and places"
            return ""
        try:
            self._decoders[topic] = decoder_of(topic)
        except UnreadableTopicError as error:
            self.unreadable[topic] = str(error)
            return ""
        return kind
