package jsonread

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// record has a member of each kind that a Reader reads.
type record struct {
	Text  string            `json:"text"`
	Truth bool              `json:"truth"`
	Inner *record           `json:"inner"`
	List  []string          `json:"list"`
	Map   map[string]string `json:"map"`
	Int   *int              `json:"int"`
}

func read(data []byte) (*record, bool) {
	r := New(data)
	got := readRecord(r)
	return got, r.End()
}

func readRecord(r *Reader) *record {
	if r.Null() {
		return nil
	}
	got, seen := &record{}, map[string]bool{}
	for name, more := r.Member(); more; name, more = r.Next() {
		if seen[string(name)] {
			r.GiveUp()
		}
		seen[string(name)] = true
		switch string(name) {
		case "text":
			got.Text = r.String("recent")
		case "truth":
			got.Truth = r.Bool()
		case "inner":
			got.Inner = readRecord(r)
		case "list":
			got.List = []string{}
			for more := r.Item(); more; more = r.NextItem() {
				got.List = append(got.List, r.String(""))
			}
		case "map":
			got.Map = map[string]string{}
			for key, more := r.Member(); more; key, more = r.Next() {
				got.Map[string(key)] = r.String("")
			}
		case "int":
			got.Int = new(r.Int())
		case "skipped":
			r.Skip()
		default:
			r.GiveUp()
		}
	}
	return got
}

// FuzzReader compares what a Reader accepts with what encoding/json makes of it.
func FuzzReader(f *testing.F) {
	for _, seed := range append(accepted(), refused()...) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := read(data)
		if !ok {
			return
		}
		var want *record
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatalf("%q is accepted, and encoding/json says %v", data, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q is read as %+v, and encoding/json reads %+v", data, got, want)
		}
	})
}

func accepted() []string {
	return []string{
		`null`, `{}`, " {\n\t} \r", `{"text":null,"truth":null,"inner":null}`,
		`{"text":"a","truth":true,"inner":{"text":"recent","truth":false},"list":[],"map":{}}`,
		`{ "list" : [ "a" , "\u00e9\n\t\r\b\f\/\\\"" , "日本語 👩🏽" ] }`,
		`{"text":"\ud83d\ude00\u0000"}`, `{"map":{"a":"b","a":"c","":null}}`,
		`{"int":0,"inner":{"int":-120}}`, `{"int":999999999}`, `{"int":-0}`,
		`{"skipped":{"a":[1,-2.50,{"b":"\u00e9"},[],{},true,false,null,""]},"text":"a"}`, `{"skipped":12345678901234567890}`,
	}
}

func refused() []string {
	return []string{
		``, ` `, `{`, `{"text"`, `{"text":`, `{"text":"a`, `{"text":"a\`, `{"text":"a\"}`, `{"text":"\x"}`, `{"text":"\u12"}`,
		`{"text":"\u12x4"}`, `{"text":"\ud800"}`, `{"text":"\ud800\ud800"}`, `{"text":"\ud800\n"}`, `{"text":"\ude00"}`,
		"{\"text\":\"\xff\"}", "{\"text\":\"\n\"}", `{"text":1}`, `{"truth":1}`, `{"truth":"true"}`, `{"truth":tru}`,
		`{"list":[,]}`, `{"list":["a",]}`, `{"list":["a" "b"]}`, `{"list":{}}`, `{"list":["a"`, `{"inner":[]}`, `[]`, `{"text":"a",}`,
		`{,}`, `{"text":"a" "truth":true}`, `{"text":"a"} {}`, `{"text":"a"}x`, `{"te\u0078t":"a"}`, `{"Text":"a"}`,
		`{"text":"a","text":"b"}`, `{"other":1}`, `nul`, `{text:"a"}`, `{"text" "a"}`, `{"map":{"\u0061":"b"}}`,
		`{"int":}`, `{"int":-}`, `{"int":01}`, `{"int":1.0}`, `{"int":1e2}`, `{"int":1234567890}`, `{"int":"1"}`, `{"int":null}`,
		`{"int":+1}`, `{"int":0x1}`, `{"skipped":1e999}`, `{"skipped":1.}`, `{"skipped":.5}`, `{"skipped":[1,]}`, `{"skipped":x}`,
		`{"skipped":"\x"}`, `{"skipped":{"a"}}`, `{"skipped":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`,
		`{"skipped":123456789012345678901}`, `{"skipped":`, "{\"skipped\":\"\xff\"}", `{"skipped":tru}`,
	}
}

func TestWhatIsExpectedIsRead(t *testing.T) {
	for _, text := range accepted() {
		got, ok := read([]byte(text))
		var want *record
		if err := json.Unmarshal([]byte(text), &want); err != nil || !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %+v, %v; encoding/json reads %+v, %v", text, got, ok, want, err)
		}
	}
}

func TestWhatIsUnusualIsLeftToOthers(t *testing.T) {
	for _, text := range refused() {
		if got, ok := read([]byte(text)); ok {
			t.Errorf("%s is read as %+v", text, got)
		}
	}
}

// What is read over and over in a list costs no memory the second time.
func TestARecentTextIsNotAllocated(t *testing.T) {
	text := []byte(`"America/New_York"`)
	recent := "America/New_York"
	r := Reader{}
	allocations := testing.AllocsPerRun(10, func() {
		r = Reader{data: text}
		recent = r.String(recent)
	})
	if allocations > 0 || recent != "America/New_York" || r.bad {
		t.Errorf("%q with %v allocations", recent, allocations)
	}
}
