module plant-peer

go 1.25

require (
	github.com/mattn/go-sqlite3 v1.14.53
	github.com/pocketbase/dbx v1.12.0
	github.com/pocketbase/pocketbase v0.36.8
)
