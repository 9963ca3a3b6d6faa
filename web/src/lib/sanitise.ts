/**
 * The last gate before HTML reaches the page: what the Markdown renderer does
 * not write on purpose does not pass. It needs a browser's DOM.
 */
import DOMPurify from 'dompurify';

const TAGS = [
  'p', 'br', 'hr', 'em', 'strong', 's', 'code', 'pre', 'blockquote', 'a', 'button', 'div', 'span',
  'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'table', 'thead', 'tbody', 'tr', 'th', 'td',
];
/** Attributes whose values are no addresses; href is the only one that is. */
const PLAIN = ['target', 'rel', 'class', 'title', 'type', 'start', 'tabindex', 'role', 'aria-label', 'data-cite', 'data-copy', 'data-math'];

/** Returns html with nothing in it that loads, runs or styles. */
export function sanitise(html: string): string {
  return DOMPurify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ['href', ...PLAIN],
    ADD_URI_SAFE_ATTR: PLAIN,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    ALLOWED_URI_REGEXP: /^(?:https?:\/\/|mailto:)/i,
  });
}
