#!/usr/bin/env python3
"""Draws docs/pictures/demo.svg: the terminal at the end of a real run of `floe demo`.

    python3 docs/pictures/demo.py target/release/floe

The demo runs on a pseudo terminal of 104 by 30 characters. What it writes is followed as a terminal would follow it,
and the last screen becomes the picture. Only the standard library is used.
"""

import fcntl
import html
import os
import pathlib
import pty
import re
import struct
import sys
import termios

COLUMNS, LINES = 104, 30
SEQUENCE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")
PALETTE = {31: "#f47067", 32: "#8ddb8c", 33: "#f2cc60", 34: "#6cb6ff", 35: "#dcbdfb", 36: "#76e3ea", 90: "#8b949e"}


class Screen:
    """A terminal with as much of its language as the demo speaks."""

    def __init__(self):
        self.lines = [[]]
        self.row = self.column = 0
        self.style = (False, None)

    def feed(self, text):
        at = 0
        while at < len(text):
            match = SEQUENCE.match(text, at)
            if match:
                self.obey(match[1], match[2])
                at = match.end()
            else:
                self.put(text[at])
                at += 1

    def put(self, char):
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self.row += 1
            self.column = 0
            if self.row == len(self.lines):
                self.lines.append([])
        elif char >= " ":
            if self.column == COLUMNS:
                self.put("\n")
            line = self.lines[self.row]
            line.extend([(" ", (False, None))] * (self.column + 1 - len(line)))
            line[self.column] = (char, self.style)
            self.column += 1

    def obey(self, parameters, verb):
        numbers = [int(it) for it in parameters.split(";") if it.isdigit()]
        if verb == "A":
            self.row = max(0, self.row - (numbers or [1])[0])
        elif verb == "K":
            del self.lines[self.row][self.column:]
        elif verb == "J":
            del self.lines[self.row][self.column:]
            del self.lines[self.row + 1:]
        elif verb == "m":
            for number in numbers or [0]:
                bold, colour = self.style
                if number == 0:
                    self.style = (False, None)
                elif number == 1:
                    self.style = (True, colour)
                elif number in PALETTE:
                    self.style = (bold, number)


def run(program):
    """All that the demo writes on a terminal."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS=str(COLUMNS), LINES=str(LINES))
        os.environ.pop("NO_COLOR", None)
        # By its name alone, as who has installed it: the demo shows how it was called.
        os.environ["PATH"] = os.path.dirname(program) + os.pathsep + os.environ["PATH"]
        os.execvp("floe", ["floe", "demo"])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    written = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        written += piece
    _, status = os.waitpid(child, 0)
    if status != 0:
        sys.exit(f"expected the demo to end with 0, got {os.waitstatus_to_exitcode(status)}")
    return written.decode()


def spans(line):
    """Pieces of a line that look alike."""
    start = 0
    for at in range(1, len(line) + 1):
        if at == len(line) or line[at][1] != line[start][1]:
            yield start, "".join(char for char, _ in line[start:at]), line[start][1]
            start = at


def svg(lines):
    # Browsers join spaces, also with xml:space, but not those that do not break.
    fixed = str.maketrans(" ", "\u00a0")
    width, height, em = COLUMNS * 8.4 + 32, len(lines) * 19 + 60, 8.4
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" aria-label="floe demo">',
        f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#0d1117"/>',
        *(f'<circle cx="{20 + 20 * at}" cy="18" r="6" fill="{fill}"/>' for at, fill in enumerate(["#ff5f57", "#febc2e", "#28c840"])),
        '<g font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14" fill="#e6edf3">',
    ]
    for row, line in enumerate([[(char, (True, None)) for char in "$ floe demo"]] + lines):
        for start, text, (bold, colour) in spans(line):
            if text.strip():
                weight = ' font-weight="bold"' if bold else ""
                fill = f' fill="{PALETTE[colour]}"' if colour else ""
                length = f' textLength="{len(text) * em:.1f}"'
                place = f'x="{16 + start * em:.1f}" y="{46 + row * 19}"'
                out.append(f"<text {place}{weight}{fill}{length}>{html.escape(text.translate(fixed))}</text>")
    return "\n".join(out + ["</g>", "</svg>", ""])


def main():
    program = sys.argv[1] if len(sys.argv) == 2 else sys.exit(__doc__)
    screen = Screen()
    screen.feed(run(os.path.abspath(program)))
    lines = screen.lines
    while lines and not any(char.strip() for char, _ in lines[-1]):
        lines.pop()
    picture = pathlib.Path(__file__).with_name("demo.svg")
    picture.write_text(svg(lines))
    print(f"wrote {picture}, {len(lines)} lines")


if __name__ == "__main__":
    main()
