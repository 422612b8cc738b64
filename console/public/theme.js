// Runs before anything is painted: a chosen theme that differs from the system's must not flash.
try {
  const theme = localStorage.getItem('theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Without storage the system decides.
}
