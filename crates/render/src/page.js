for (const field of document.querySelectorAll("input.filter")) {
    const rows = field.nextElementSibling.querySelectorAll("tbody tr");
    field.hidden = false;
    field.addEventListener("input", () => {
        const text = field.value.toLowerCase();
        for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(text);
    });
}
