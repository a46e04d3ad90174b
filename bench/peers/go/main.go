// POST /plants in Go: net/http, and a writer that commits all creates that wait at once.
// PLANT_STORE_TOKEN=TOKEN peer STORE_PATH
//
// It keeps the promise for this one operation: a 200 only after the sync of the commit. It takes id
// as an integer literal only, and names of members in any case, as encoding/json does.
package main

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/mattn/go-sqlite3"
)

const (
	bodyBytesMax = 1 << 20
	waitingMax   = 16_384
	batchMax     = 1_024
	// As often as SQLite does by itself, but after the answers.
	commitsACheckpoint = 1_000
	garbagePercent     = 400
)

type newPlant struct {
	ID   *int64  `json:"id"`
	Name *string `json:"name"`
	Tag  *string `json:"tag"`
}

type plant struct {
	Name *string `json:"name"`
	Tag  *string `json:"tag,omitempty"`
}

type refusal struct {
	Error   int32  `json:"error"`
	Message string `json:"message"`
}

type create struct {
	plant newPlant
	// Whether the plant is in the store now; if not, the id belongs to another plant.
	stored chan bool
}

func main() {
	debug.SetGCPercent(garbagePercent)
	creates := make(chan create, waitingMax)
	go open(os.Args[1]).write(creates)

	authorization := "Bearer " + os.Getenv("PLANT_STORE_TOKEN")
	http.HandleFunc("POST /plants", func(response http.ResponseWriter, request *http.Request) {
		status, body := answer(request, authorization, creates)
		response.Header().Set("Content-Type", "application/json")
		response.WriteHeader(status)
		response.Write(must(json.Marshal(body)))
	})
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	fmt.Printf("http://%s\n", listener.Addr())
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	go func() { check(http.Serve(listener, nil)) }()
	<-terminated
}

// A store that has failed ends the process, because a sync must not be tried again.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func answer(request *http.Request, authorization string, creates chan<- create) (int, any) {
	if request.Header.Get("Authorization") != authorization {
		return 401, refusal{40101, "the token is missing or unknown"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, request.Body, bodyBytesMax))
	if err != nil {
		return 413, refusal{41300, "the body is too large"}
	}
	sent := create{stored: make(chan bool, 1)}
	if err := parse(body, &sent.plant); err != nil {
		return 400, refusal{40001, err.Error()}
	}
	select {
	case creates <- sent:
	default:
		return 503, refusal{50300, "too many creates wait"}
	}
	if !<-sent.stored {
		return 400, refusal{40004, "the id belongs to a different plant"}
	}
	return 200, plant{sent.plant.Name, sent.plant.Tag}
}

func parse(body []byte, plant *newPlant) error {
	if err := json.Unmarshal(body, plant); err != nil {
		return err
	}
	if plant.ID == nil || plant.Name == nil {
		return fmt.Errorf("id and name are required")
	}
	// A null tag is refused, because null is no string. A plant without the member has no tag.
	var members struct{ Tag json.RawMessage }
	if plant.Tag == nil && bytes.Contains(body, []byte("null")) {
		check(json.Unmarshal(body, &members))
	}
	if members.Tag != nil {
		return fmt.Errorf("tag is not a string")
	}
	return nil
}

// The one connection and its statements, without the pool of database/sql.
type store struct {
	*sqlite3.SQLiteConn
	begin, insert, find, commit driver.Stmt
}

func open(path string) store {
	options := "?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=5000"
	conn := must((&sqlite3.SQLiteDriver{}).Open("file:" + path + options)).(*sqlite3.SQLiteConn)
	must(conn.Exec(`PRAGMA wal_autocheckpoint = 0; CREATE TABLE IF NOT EXISTS plants
		(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT`, nil))
	return store{
		SQLiteConn: conn,
		begin:      must(conn.Prepare("BEGIN IMMEDIATE")),
		insert:     must(conn.Prepare("INSERT INTO plants VALUES (?, ?, ?) ON CONFLICT DO NOTHING")),
		find:       must(conn.Prepare("SELECT name IS ? AND tag IS ? FROM plants WHERE id = ?")),
		commit:     must(conn.Prepare("COMMIT")),
	}
}

// Commits all creates that wait in one transaction, and answers them after its sync.
func (store store) write(creates <-chan create) {
	batch, stored := make([]create, 0, batchMax), make([]bool, batchMax)
	for commits := 1; ; commits++ {
		batch = append(batch[:0], <-creates)
		for len(batch) < batchMax && len(creates) > 0 {
			batch = append(batch, <-creates)
		}
		must(store.begin.Exec(nil))
		for index, one := range batch {
			stored[index] = store.hold(one.plant)
		}
		must(store.commit.Exec(nil))
		for index, one := range batch {
			one.stored <- stored[index]
		}
		if commits%commitsACheckpoint == 0 {
			must(store.Exec("PRAGMA wal_checkpoint(PASSIVE)", nil))
		}
	}
}

// Whether the plant is in the store now.
func (store store) hold(plant newPlant) bool {
	var tag driver.Value
	if plant.Tag != nil {
		tag = *plant.Tag
	}
	result := must(store.insert.Exec([]driver.Value{*plant.ID, *plant.Name, tag}))
	if must(result.RowsAffected()) == 1 {
		return true
	}
	rows := must(store.find.Query([]driver.Value{*plant.Name, tag, *plant.ID}))
	defer rows.Close()
	same := []driver.Value{nil}
	check(rows.Next(same))
	return same[0] == int64(1)
}
