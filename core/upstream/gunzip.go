package upstream

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
)

// decompress decompresses the body of an answer below its bounds. net/http would do it, too, but does not
// tell how much there was before.
func decompress(resp *http.Response) {
	if !strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		return
	}
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.ContentLength = -1
	resp.Uncompressed = true
	packed := &countedReader{Reader: resp.Body}
	resp.Body = &gunzip{packed: packed, Closer: resp.Body}
}

// gunzip refuses what is compressed further than programs' answers are.
type gunzip struct {
	packed *countedReader
	plain  *gzip.Reader // nil: nothing was read yet
	out    int64
	io.Closer
}

func (g *gunzip) Read(p []byte) (int, error) {
	if g.plain == nil {
		var err error
		if g.plain, err = gzip.NewReader(g.packed); err != nil {
			return 0, err // io.EOF where there is no body
		}
	}
	n, err := g.plain.Read(p)
	if g.out += int64(n); g.out > freeBytes && g.out > maxRatio*g.packed.read {
		return n, excess("is compressed further")
	}
	return n, err
}

type countedReader struct {
	io.Reader
	read int64
}

func (r *countedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.read += int64(n)
	return n, err
}

// isCorrupt reports whether an answer is not what it was compressed from.
func isCorrupt(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt)
}
