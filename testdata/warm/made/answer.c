// A library that is swapped for another under a warm program: ANSWER is what it says, and how long it is.
int answer(void);
const char filler[ANSWER % 7 * 4096 + 1] = { 1 };
int answer(void) { return ANSWER + filler[0] - 1; }
