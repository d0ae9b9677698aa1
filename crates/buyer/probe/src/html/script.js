'use strict';
const checks = [...document.querySelectorAll('.check')];
const buttons = [...document.querySelectorAll('[data-filter]')];
const find = document.getElementById('find');
const apply = () => {
  const shown = new Set(
    buttons.filter((it) => it.getAttribute('aria-pressed') === 'true').map((it) => it.dataset.filter),
  );
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const check of checks) {
    const text = check.textContent.toLowerCase();
    check.hidden = !shown.has(check.dataset.verdict) || !words.every((word) => text.includes(word));
  }
};
for (const button of buttons) {
  button.addEventListener('click', () => {
    button.setAttribute('aria-pressed', String(button.getAttribute('aria-pressed') !== 'true'));
    apply();
  });
}
find.addEventListener('input', apply);
