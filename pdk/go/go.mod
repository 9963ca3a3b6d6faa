module github.com/bulkhead-host/bulkhead/pdk/go

go 1.26.0
