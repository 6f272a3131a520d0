package normalize

import (
	"strings"
	"testing"
)

func TestHTMLToText(t *testing.T) {
	for rule, c := range map[string]struct{ html, want string }{
		"text alone":                         {"Hello", "Hello"},
		"nothing":                            {"", ""},
		"markup alone":                       {"<p><br></p><ul><li></li></ul>", ""},
		"white space is one space":           {"a \n\t b", "a b"},
		"white space around inline elements": {"a <b>b</b> c<i>d</i>", "a b cd"},
		"no-break spaces":                    {"a&nbsp;&nbsp;b", "a b"},
		"character references":               {"1 &lt; 2 &amp; 3 &#x1F600; &eacute;", "1 < 2 & 3 😀 é"},
		"paragraphs":                         {"<p>a</p><p>b</p>", "a\n\nb"},
		"a paragraph that is not closed":     {"<p>a<p>b", "a\n\nb"},
		"an empty paragraph is none":         {"<p>a</p><p>&nbsp;</p><p>b</p>", "a\n\nb"},
		"headings":                           {"<h1>a</h1>b<h2>c</h2>", "a\n\nb\n\nc"},
		"line breaks":                        {"a<br>b<br/>c", "a\nb\nc"},
		"two line breaks are an empty line":  {"a<br><br>b", "a\n\nb"},
		"more than two are no more":          {"a<br><br><br><br>b", "a\n\nb"},
		"blocks are lines":                   {"<div>a</div><div>b</div>", "a\nb"},
		"blocks within blocks":               {"<div><div>a</div><div><div>b</div></div></div>", "a\nb"},
		"a bulleted list":                    {"<ul><li>a</li><li>b</li></ul>", "- a\n- b"},
		"a numbered list":                    {"<ol><li>a</li><li>b</li></ol>", "1. a\n2. b"},
		"a numbered list that starts later":  {`<ol start="9"><li>a</li><li>b</li></ol>`, "9. a\n10. b"},
		"a start that is no number":          {`<ol start="x"><li>a</li></ol>`, "1. a"},
		"items that are not closed":          {"<ul><li>a<li>b</ul>c", "- a\n- b\n\nc"},
		"a list between paragraphs":          {"<p>a</p><ul><li>b</li></ul><p>c</p>", "a\n\n- b\n\nc"},
		"a list within a list": {"<ol><li>a<ul><li>b</li><li>c</li></ul></li><li>d</li></ol>",
			"1. a\n  - b\n  - c\n2. d"},
		"paragraphs within items": {"<ul><li><p>a</p></li><li><p>b</p><p>c</p></li></ul>",
			"- a\n- b\n\n  c"},
		"an empty item has no bullet": {"<ul><li></li><li>a</li></ul>", "- a"},
		"an item without a list":      {"<li>a</li>", "- a"},
		"a list that is not closed":   {"<ul><li>a", "- a"},
		"a list that was not opened":  {"a</ul>b", "a\n\nb"},
		"definitions":                 {"<dl><dt>a</dt><dd>b</dd></dl>c", "a\nb\n\nc"},
		"rows and cells": {"<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>",
			"a b\n1 2"},
		"scripts":                     {"a<script>if (1 < 2) { x('</p>') }</script>b", "ab"},
		"styles":                      {"<style>p > a { color: red }</style>a", "a"},
		"a script that is not closed": {"a<script>b", "a"},
		"a script in a head": {"<head><title>t</title><script>s</script></head><body>a</body>",
			"a"},
		"a head that is not closed":   {"<head><meta charset=utf-8><p>a", "a"},
		"pictures within pictures":    {"a<svg><title>t</title><svg>u</svg>v</svg>b", "ab"},
		"a picture closed by a slash": {"a<svg/>b", "ab"},
		"elements that show no text": {"a<template>t</template><iframe>i</iframe>" +
			"<object>o</object><noscript>n</noscript>b", "ab"},
		"comments":                             {"a<!-- <p>b</p> -->c<!--[if mso]>d<![endif]-->e", "ace"},
		"alternative texts":                    {`a <img src="x" alt="b"> c <img src="y">`, "a b c"},
		"a link is its text":                   {`<a href="https://example.com/x">here</a>`, "here"},
		"preformatted text":                    {"<pre>a\n  b\n\n\n\nc  d</pre>e", "a\n  b\n\nc  d\n\ne"},
		"what a text field holds":              {"a<textarea>b <b>c</b></textarea>d", "a\nb <b>c</b>\nd"},
		"invisible filler of previews":         {"a&#8203;&shy;&#65279;&#847; b", "a b"},
		"joiners of emoji and of scripts stay": {"👩&#8205;⚕️ می&zwnj;خواهم", "👩\u200d⚕️ می\u200cخواهم"},
		"control characters":                   {"a\x00\x01b&#7;c", "abc"},
		"what is not UTF-8":                    {"a\xffb", "a\ufffdb"},
		"Windows' line ends":                   {"a\r\nb", "a b"},
		"elements and attributes in capitals":  {`<P>a</P><UL><LI>b</LI></UL><IMG ALT="c">`, "a\n\n- b\n\nc"},
		"elements that nobody knows":           {"<o:p>a</o:p><x-y>b</x-y>", "ab"},
		"a tag that is not finished":           {"a<b", "a"},
		"a lone bracket":                       {"1 < 2 > 0", "1 < 2 > 0"},
		"markup that was escaped stays text": {"&lt;script&gt;alert(1)&lt;/script&gt;",
			"<script>alert(1)</script>"},
		"end tags that end nothing": {"</script></p></pre>a</svg>", "a"},
	} {
		t.Run(rule, func(t *testing.T) {
			if got := htmlToText(c.html); got != c.want {
				t.Errorf("%s\nis   %q\nwant %q", c.html, got, c.want)
			}
		})
	}
}

// TestHostileHTML proves that no input makes more of itself: each is a quarter of a mebibyte of what would,
// if nesting, numbering or references cost anything.
func TestHostileHTML(t *testing.T) {
	for rule, part := range map[string]string{
		"nested lists":             "<ul><li>x",
		"nested numbered lists":    `<ol start="2147483647"><li>x`,
		"nested blocks":            "<div>x",
		"nested tables":            "<table><tr><td>x",
		"nested preformatted":      "<pre> x",
		"nested pictures":          "<svg>x",
		"end tags":                 "</ul>x",
		"line breaks":              "<br>",
		"line breaks and a letter": "<br>x",
		"references":               "&nGt;",
		"references unfinished":    "&amp",
		"brackets":                 "<",
		"comments unfinished":      "<!--",
		"attributes":               "<img alt=x ",
		"spaces":                   " ",
		"letters":                  "x",
	} {
		t.Run(rule, func(t *testing.T) {
			source := strings.Repeat(part, (1<<18)/len(part))
			if got := htmlToText(source); len(got) > 4*len(source) {
				t.Errorf("%d bytes became %d", len(source), len(got))
			}
		})
	}
}
