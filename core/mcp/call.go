package mcp

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"frontdesk/core/api"
	"frontdesk/core/telemetry"
	"frontdesk/core/toolcall"
)

// caller returns the handler of a tool: it calls the operation as the caller would.
func (s *Server) caller(t api.Tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		header := headerOf(req)
		result, err := s.runner.Run(ctx, toolcall.Call{
			Tool: t, Arguments: req.Params.Arguments, Header: header, Caller: header.Get(toolcall.HeaderCaller),
			CallID: header.Get(toolcall.HeaderCall), TenantID: callerOf(ctx).Tenant.ID,
		})
		if err != nil {
			return nil, err
		}
		return text(result), nil
	}
}

type panicKey struct{}

// inLibrary returns a tool as the library calls it: in a goroutine of its own, in which a panic would end the process.
// It is passed on to that of the request.
func inLibrary(call mcp.ToolHandler) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
		defer func() {
			if cause := recover(); cause != nil {
				panicked := telemetry.Recovered(cause) // which tells where
				ctx.Value(panicKey{}).(*atomic.Pointer[error]).Store(&panicked)
				err = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
			}
		}()
		return call(ctx, req)
	}
}

// serveByLibrary has the library serve a request, and panics if a tool did.
func serveByLibrary(library http.Handler, w http.ResponseWriter, r *http.Request) {
	var panicked atomic.Pointer[error]
	library.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), panicKey{}, &panicked)))
	if cause := panicked.Load(); cause != nil {
		panic(*cause)
	}
}

// headerOf returns the header of the HTTP request of a call.
func headerOf(req *mcp.CallToolRequest) http.Header {
	if req.Extra == nil {
		return http.Header{}
	}
	return req.Extra.Header
}

// text returns a result: a sentence, then JSON.
func text(r toolcall.Result) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: !r.OK, Content: []mcp.Content{&mcp.TextContent{Text: r.Text()}}}
}
