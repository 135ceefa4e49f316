// Goroutines that wait for a mutex of the Go runtime, which is not a pthread mutex.
package main

import (
	"fmt"
	"sync"
	"time"
)

func main() {
	var mutex sync.Mutex
	var group sync.WaitGroup
	count := 0
	for range [3]int{} {
		group.Add(1)
		go func() {
			defer group.Done()
			for range [120]int{} {
				mutex.Lock()
				count++
				time.Sleep(5 * time.Millisecond)
				mutex.Unlock()
			}
		}()
	}
	group.Wait()
	fmt.Println(count)
}
