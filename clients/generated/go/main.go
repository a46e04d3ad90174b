package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"

	plants "example.org/garden/client"
)

func main() {
	configuration := plants.NewConfiguration()
	configuration.Servers = plants.ServerConfigurations{{URL: os.Getenv("URL")}}
	configuration.AddDefaultHeader("Authorization", "Bearer "+os.Getenv("TOKEN"))
	api := plants.NewAPIClient(configuration).PlantsAPI
	ctx := context.Background()

	oak := plants.NewPlant{Id: math.MaxInt64, Name: "Oak"}
	_, reply, err := api.CreatePlant(ctx).NewPlant(oak).Execute()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("Plant-Id", reply.Header.Get("Plant-Id"))

	elm := plants.NewPlant{Id: math.MaxInt64, Name: "Elm"}
	_, _, err = api.CreatePlant(ctx).NewPlant(elm).Execute()
	var refused *plants.GenericOpenAPIError
	if !errors.As(err, &refused) {
		log.Fatal(err)
	}
	problem := refused.Model().(plants.Error)
	if plants.ErrorCode(problem.Error) == plants.ID_TAKEN {
		fmt.Println("ID_TAKEN", problem.Message)
	}
}
