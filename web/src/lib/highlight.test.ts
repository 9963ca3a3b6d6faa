import { describe, expect, it } from 'vitest';
import { highlight } from './highlight';

describe('highlight', () => {
  it('colours and escapes', () => {
    const out = highlight('func main() { print("<script>") }', 'go') ?? '';
    expect(out).toContain('<span class="hljs-keyword">func</span>');
    expect(out).toContain('&lt;script&gt;');
    expect(out.replace(/<\/?span[^>]*>/g, '')).not.toMatch(/[<>]/);
  });

  it('leaves alone what it does not know and what is too long', () => {
    expect(highlight('x', 'klingon')).toBeNull();
    expect(highlight('x\n'.repeat(10_001), 'go')).toBeNull();
    expect(highlight('x'.repeat(1001), 'go')).toBeNull();
  });
});
