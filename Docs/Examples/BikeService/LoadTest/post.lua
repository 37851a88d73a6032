-- wrk -s post.lua URL -- COLOR: each request creates a bicycle of that color, with a name that no other has.
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("thread_number", threads)
end

function init(args)
  color = args[1] or "blue"
  prefix = os.time() .. "-" .. thread_number .. "-"
  count = 0
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
end

function request()
  count = count + 1
  local body = '{"name":"' .. prefix .. count .. '","color":"' .. color .. '","price":49900}'
  return wrk.format(nil, nil, nil, body)
end
