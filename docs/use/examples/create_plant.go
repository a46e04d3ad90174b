// Creates one plant, and retries until the outcome is known.
//
//	URL=http://127.0.0.1:8080 TOKEN=... go run create_plant.go ID NAME [TAG]
//
// Exit code of the program: 0 stored, 1 not stored, 2 may be stored.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	createTimeout  = time.Minute
	attemptTimeout = 10 * time.Second
	pauseMin       = 100 * time.Millisecond
	pauseMax       = 5 * time.Second
)

// Plant is the body of a create. An int64 is exact; interface{} would be a float64.
type Plant struct {
	ID   int64   `json:"id"`
	Name string  `json:"name"`
	Tag  *string `json:"tag,omitempty"`
}

// ErrNotStored and ErrMayBeStored say what became of a plant that was not acknowledged. Creating
// the same plant again settles the second one.
var (
	ErrNotStored   = errors.New("not stored")
	ErrMayBeStored = errors.New("may be stored")
)

type reply struct {
	status     int
	plantID    string
	retryAfter time.Duration
	code       int
	why        string
}

// CreatePlant returns nil when the plant is stored, and else an error that wraps ErrNotStored or
// ErrMayBeStored.
func CreatePlant(ctx context.Context, url, token string, plant Plant) error {
	// All attempts send the same bytes.
	body, err := json.Marshal(plant)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	outcome := ErrNotStored
	for limit := pauseMin; ; limit = min(2*limit, pauseMax) {
		got, err := send(ctx, url, token, body)
		switch {
		case err != nil:
			outcome, got.why = ErrMayBeStored, "no reply: "+err.Error()
		case got.status == http.StatusOK:
			return checkID(plant.ID, got.plantID)
		case got.status == http.StatusBadRequest && got.code != 0:
			// A 400 of the service is about the plant, and so holds for the attempts before.
			return fmt.Errorf("%w: %s", ErrNotStored, got.why)
		case got.status < 500 && got.status != 408 && got.status != 429:
			return fmt.Errorf("%w: %s", outcome, got.why)
		case got.status >= 500 && got.code != 50300 && got.code != 50302:
			// Any other 5xx than overloaded and shutting down.
			outcome = ErrMayBeStored
		}
		pause := got.retryAfter + rand.N(limit)
		deadline, _ := ctx.Deadline()
		if time.Now().Add(pause).After(deadline) {
			return fmt.Errorf("%w: %s", outcome, got.why)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", outcome, got.why)
		}
	}
}

// A redirect would send the token to a different address.
var client = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func send(ctx context.Context, url, token string, body []byte) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, "POST", strings.TrimRight(url, "/")+"/plants", bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return reply{}, err
	}
	got := reply{
		status:  response.StatusCode,
		plantID: response.Header.Get("Plant-Id"),
		why:     "status " + response.Status,
	}
	requestID := response.Header.Get("X-Request-Id")
	// A proxy may send a date, which counts as 0.
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	got.retryAfter = time.Duration(seconds) * time.Second
	// A proxy may answer with HTML.
	var problem struct {
		Error   int
		Message string
	}
	if json.Unmarshal(text, &problem) == nil && problem.Error != 0 {
		got.code = problem.Error
		got.why = fmt.Sprintf("%d %s (request %s)", problem.Error, problem.Message, requestID)
	}
	return got, nil
}

func checkID(sent int64, stored string) error {
	if stored == strconv.FormatInt(sent, 10) {
		return nil
	}
	return fmt.Errorf("%w: the service has stored the id %q, not %d", ErrMayBeStored, stored, sent)
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: create_plant ID NAME [TAG]")
		os.Exit(1)
	}
	id, err := strconv.ParseInt(os.Args[1], 10, 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, "not stored:", err)
		os.Exit(1)
	}
	plant := Plant{ID: id, Name: os.Args[2]}
	if len(os.Args) > 3 {
		plant.Tag = &os.Args[3]
	}
	err = CreatePlant(context.Background(), os.Getenv("URL"), os.Getenv("TOKEN"), plant)
	if err == nil {
		fmt.Println("stored:", id)
		return
	}
	fmt.Fprintln(os.Stderr, err)
	if errors.Is(err, ErrMayBeStored) {
		os.Exit(2)
	}
	os.Exit(1)
}
