package caldav

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestWhatIsAttachedIsLeftOut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("QUJD", 10_000)
	for name, c := range map[string]struct{ in, out string }{
		"nothing":        {"", ""},
		"a line":         {"A:1\r\nATTACH;VALUE=BINARY:" + long + "\r\nB:2\r\n", "A:1\r\nB:2\r\n"},
		"folded":         {"A:1\r\nattach:" + long + "\r\n " + long + "\r\n\t" + long + "\r\nB:2\r\n", "A:1\r\nB:2\r\n"},
		"a longer name":  {"ATTACHED:1\nIMAGES:2\n ATTACH:3\n", "ATTACHED:1\nIMAGES:2\n ATTACH:3\n"},
		"a long line":    {"DESCRIPTION:" + long + "ATTACH:\nB:2", "DESCRIPTION:" + long + "ATTACH:\nB:2"},
		"in XML":         {"<d>A:1&#13;\nATTACH:x&#13;\nB:2</d>", "<d>A:1&#13;\nB:2</d>"},
		"at its end":     {"<d>A:1\nATTACH:" + long + "</d>\n<d>B:2</d>", "<d>A:1\n</d>\n<d>B:2</d>"},
		"in CDATA":       {"<d><![CDATA[A:1\nX-ALT-DESC:<p>1</p>\n <br>\nB:2\n]]></d>", "<d><![CDATA[A:1\nB:2\n]]></d>"},
		"at CDATA's end": {"<d><![CDATA[A:1\nIMAGE:<x]]></d>\n<d>B:2</d>", "<d><![CDATA[A:1\n]]></d>\n<d>B:2</d>"},
		"after CDATA":    {"<d><![CDATA[A:1\n]]></d>\n<d>B\nIMAGE:x</d>", "<d><![CDATA[A:1\n]]></d>\n<d>B\n</d>"},
	} {
		for way, from := range map[string]io.Reader{
			"whole": strings.NewReader(c.in), "byte by byte": iotest.OneByteReader(strings.NewReader(c.in)),
		} {
			if got, err := io.ReadAll(withoutAttachments(from)); err != nil || string(got) != c.out {
				t.Errorf("%s, %s: %.60q, %v, want %.60q", name, way, got, err, c.out)
			}
		}
	}
	cut := io.MultiReader(strings.NewReader("A:1\nATTACH:x"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if _, err := io.ReadAll(withoutAttachments(cut)); err != io.ErrUnexpectedEOF {
		t.Errorf("an answer that is cut off: %v", err)
	}
}
