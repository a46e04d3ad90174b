// PocketBase with a collection of plants, in which each of its users may create records.
// peer FOLDER/data.db NORMAL|FULL
//
// NORMAL is PocketBase as it comes. FULL opens the plants by mattn/go-sqlite3, with the pragmas of
// PocketBase but for synchronous=FULL.
package main

import (
	"database/sql"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"

	"github.com/mattn/go-sqlite3"
	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
)

const pragmas = `
	PRAGMA busy_timeout = 10000;
	PRAGMA journal_mode = WAL;
	PRAGMA journal_size_limit = 200000000;
	PRAGMA synchronous = FULL;
	PRAGMA foreign_keys = ON;
	PRAGMA temp_store = MEMORY;
	PRAGMA cache_size = -32000;`

func main() {
	store, synchronous := os.Args[1], os.Args[2]
	os.Args = []string{os.Args[0], "serve", "--dir", filepath.Dir(store)}
	config := pocketbase.Config{HideStartBanner: true}
	if synchronous == "FULL" {
		config.DBConnect = connectFull
	}
	app := pocketbase.NewWithConfig(config)
	app.OnServe().BindFunc(func(event *core.ServeEvent) error {
		token := prepare(event.App)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		check(err)
		event.Listener = listener
		event.InstallerFunc = nil // no browser
		fmt.Printf("token %s\nhttp://%s\n", token, listener.Addr())
		return event.Next()
	})
	check(app.Start())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func connectFull(path string) (*dbx.DB, error) {
	// The log of requests is no data.
	if filepath.Base(path) != "data.db" {
		return core.DefaultDBConnect(path)
	}
	return dbx.Open("sqlite3_full", path)
}

func init() {
	sql.Register("sqlite3_full", &sqlite3.SQLiteDriver{
		ConnectHook: func(connection *sqlite3.SQLiteConn) error {
			_, err := connection.Exec(pragmas, nil)
			return err
		},
	})
	dbx.BuilderFuncMap["sqlite3_full"] = dbx.BuilderFuncMap["sqlite3"]
}

// Makes the collection and a user. Returns a token of the user.
func prepare(app core.App) string {
	plants := core.NewBaseCollection("plants")
	mayCreate := "@request.auth.id != ''"
	plants.CreateRule = &mayCreate
	plants.Fields.Add(&core.TextField{Name: "name"}, &core.TextField{Name: "tag"})
	check(app.Save(plants))
	users, err := app.FindCollectionByNameOrId("users")
	check(err)
	user := core.NewRecord(users)
	user.SetEmail("bench@example.org")
	user.SetPassword("bench-password")
	check(app.Save(user))
	token, err := user.NewAuthToken()
	check(err)
	return token
}
