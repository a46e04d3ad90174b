module example.org/garden

go 1.24.0
