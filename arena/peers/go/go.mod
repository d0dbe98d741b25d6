module tidings.example/arena/peer-go

go 1.19
