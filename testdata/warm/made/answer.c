// A library that tests replace while its program has a snapshot. ANSWER is the number that it returns, and it
// determines the length of the file.
int answer(void);
const char filler[ANSWER % 7 * 4096 + 1] = { 1 };
int answer(void) { return ANSWER + filler[0] - 1; }
