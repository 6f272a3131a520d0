package browsertest

import "strings"

// keys are the keys that have a name: their virtual key code, and what they type.
var keys = map[string]struct {
	code int
	text string
}{
	"Tab": {9, ""}, "Enter": {13, "\r"}, "Space": {32, " "}, "End": {35, ""}, "ArrowDown": {40, ""},
}

// Key presses a key and lets it go, as a keyboard does: "Tab", "Enter", "Space", "End", "ArrowDown", or what
// the key types.
func (b *Browser) Key(name string) {
	b.t.Helper()
	k, named := keys[name]
	if !named {
		k.code, k.text = int(strings.ToUpper(name)[0]), name
	}
	event := map[string]any{"type": "rawKeyDown", "key": name, "code": name, "windowsVirtualKeyCode": k.code}
	if k.text != "" {
		event["type"], event["text"] = "keyDown", k.text
	}
	if name == "Space" {
		event["key"] = k.text
	}
	b.Call("Input.dispatchKeyEvent", event, nil)
	if name == "Tab" {
		return // it moves the focus when it goes down; to let it go takes the browser as long again, and does nothing
	}
	event["type"] = "keyUp"
	delete(event, "text")
	b.Call("Input.dispatchKeyEvent", event, nil)
}

// Type types a text, key by key.
func (b *Browser) Type(text string) {
	b.t.Helper()
	for _, r := range text {
		b.Key(string(r))
	}
}
