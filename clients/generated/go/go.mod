module example.org/garden

go 1.23
