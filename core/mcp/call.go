package mcp

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"frontdesk/core/api"
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
