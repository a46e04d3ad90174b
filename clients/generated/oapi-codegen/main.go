package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"net/http"
	"os"

	plants "example.org/garden/client"
)

func main() {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
		return nil
	}
	client, err := plants.NewClientWithResponses(os.Getenv("URL"), plants.WithRequestEditorFn(authorize))
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()

	created, err := client.CreatePlantWithResponse(ctx, plants.NewPlant{Id: math.MaxInt64, Name: "Oak"})
	if err != nil || created.Headers200 == nil {
		log.Fatal(created, err)
	}
	fmt.Println("Plant-Id", created.Headers200.PlantId)

	refused, err := client.CreatePlantWithResponse(ctx, plants.NewPlant{Id: math.MaxInt64, Name: "Elm"})
	if err != nil || refused.JSON400 == nil {
		log.Fatal(refused, err)
	}
	if plants.ErrorCode(refused.JSON400.Error) == plants.IDTAKEN {
		fmt.Println("ID_TAKEN", refused.JSON400.Message)
	}
}
