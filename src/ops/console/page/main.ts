const main: HTMLElement | null = document.querySelector('#console');
main?.append('Plant Store');
