#!/usr/bin/env python3
"""Draws docs/pictures/architecture.svg: the crates as layers, from the manifests.

    python3 docs/pictures/architecture.py

Each box is a crate of `crates/`, above those that it uses; what a box says below its name is the `description` of its
manifest. Only the standard library is used.
"""

import html
import pathlib
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BOX, GAP, ROW, MARGIN = 250, 24, 120, 24


def crates():
    """Name, description, and which others of them it uses."""
    manifests = [tomllib.loads(path.read_text()) for path in sorted(ROOT.glob("crates/*/Cargo.toml"))]
    names = {manifest["package"]["name"] for manifest in manifests}
    return {
        manifest["package"]["name"]: (
            manifest["package"]["description"],
            sorted(names & set(manifest.get("dependencies", {}))),
        )
        for manifest in manifests
    }


def level(name, found):
    """0 for a crate that uses none of the others."""
    used = found[name][1]
    return 1 + max(level(other, found) for other in used) if used else 0


def wrapped(text, width):
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = word
        else:
            line = f"{line} {word}".strip()
    yield line


def main():
    found = crates()
    rows = {}
    for name in found:
        rows.setdefault(level(name, found), []).append(name)
    top = max(rows)
    width = max(len(row) for row in rows.values()) * (BOX + GAP) - GAP + 2 * MARGIN
    height = (top + 1) * ROW + 2 * MARGIN - (ROW - 76)
    place = {}
    for row, names in rows.items():
        left = (width - len(names) * (BOX + GAP) + GAP) / 2
        for index, name in enumerate(names):
            place[name] = (left + index * (BOX + GAP), MARGIN + (top - row) * ROW)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="the crates of Floe">',
        '<defs><marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#57606a"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for name, (_, used) in found.items():
        x, y = place[name]
        for other in used:
            to_x, to_y = place[other]
            # What is reached through another crate anyway needs no line.
            if not any(other in found[between][1] for between in used):
                out.append(
                    f'<line x1="{x + BOX / 2}" y1="{y + 76}" x2="{to_x + BOX / 2}" y2="{to_y - 2}" stroke="#57606a" '
                    'marker-end="url(#to)"/>'
                )
    out.append('<g font-family="system-ui,sans-serif" text-anchor="middle" fill="#1f2328">')
    for name, (description, _) in found.items():
        x, y = place[name]
        out.append(f'<rect x="{x}" y="{y}" width="{BOX}" height="76" rx="8" fill="#ddf4ff" stroke="#0969da"/>')
        out.append(f'<text x="{x + BOX / 2}" y="{y + 24}" font-size="15" font-weight="bold">{html.escape(name)}</text>')
        for index, line in enumerate(list(wrapped(description, 38))[:2]):
            out.append(f'<text x="{x + BOX / 2}" y="{y + 45 + 17 * index}" font-size="12">{html.escape(line)}</text>')
    picture = pathlib.Path(__file__).with_name("architecture.svg")
    picture.write_text("\n".join(out + ["</g>", "</svg>", ""]))
    print(f"wrote {picture}")


if __name__ == "__main__":
    main()
