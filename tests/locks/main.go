// Goroutines that wait for a lock of the Go runtime's own.
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
