package upstream

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
)

// decompress replaces the body of a gzip response with a decompressing one, which is read within the bounds.
// net/http would do that, too, but does not report the compressed size.
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

// gunzip decompresses a body, and refuses one that is compressed too much.
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
			return 0, err // io.EOF if there is no body
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

// isCorrupt reports whether the error is that of a corrupt compressed body.
func isCorrupt(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt)
}
