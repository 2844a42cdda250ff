"""Markdown of messages, without a server."""

from __future__ import annotations

from harness.rows import each_row

from api.web.markdown import to_html


@each_row(
    ("text", "role", "html"),
    [
        ("**Berth** `12`\nfree", "assistant", "<p><strong>Berth</strong> <code>12</code><br>\nfree</p>\n"),
        ("# One\n- two", "assistant", "<h4>One</h4><ul>\n<li>two</li>\n</ul>\n"),
        ("```\n<b>\n```", "user", "<pre><code>&lt;b&gt;\n</code></pre>\n"),
        ("2 * 3 * 4 # not a list", "user", None),
        ("Berth 12. Free from Friday.", "assistant", None),
        # Nothing of a message is markup of its own.
        ("`x` <script>alert(1)</script>", "assistant", "<p><code>x</code> &lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
        ("[x](javascript:alert(1))", "assistant", "<p>[x](javascript:alert(1))</p>\n"),
        ("[x](data:text/html,y)", "assistant", "<p>[x](data:text/html,y)</p>\n"),
        ("[x](/ui/settings/keys)", "assistant", "<p>[x](/ui/settings/keys)</p>\n"),
        (
            "![x](https://a.b/c.png)",
            "assistant",
            '<p>!<a href="https://a.b/c.png" rel="noreferrer nofollow">x</a></p>\n',
        ),
        ('```py" onclick="x\n1\n```', "assistant", '<pre><code class="language-py&quot;">1\n</code></pre>\n'),
    ],
)
def test_an_assistants_markdown_and_anybodys_code_are_written_as_html(text: str, role: str, html: str | None) -> None:
    assert to_html(text, role) == html
