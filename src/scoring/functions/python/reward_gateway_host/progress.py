"""Where this process is in its chunk, in memory that the gateway reads when it suspects a hang."""

import mmap
import struct

IDLE = -1
_stage = struct.Struct("<iii")


class Progress:
    """Three integers: the chunk, what is being done, and a beat that a blocked event loop does not give."""

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, _stage.size)
        self._chunk = 0
        self._mark = IDLE
        self._beat = 0

    def begin(self, chunk: int) -> None:
        self._chunk = chunk

    def loading(self, index: int) -> None:
        self._write(index * 2)

    def running(self, index: int) -> None:
        self._write(index * 2 + 1)

    def idle(self) -> None:
        self._write(IDLE)

    def beat(self) -> None:
        self._beat = (self._beat + 1) & 0x3FF
        self._write(self._mark)

    def _write(self, mark: int) -> None:
        self._mark = mark
        _stage.pack_into(self._memory, 0, self._chunk, mark, self._beat)
