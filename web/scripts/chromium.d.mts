/** Returns the path of an installed Chromium, or '' where there is none. */
export function findChromium(): string;
/** The flags that Chromium needs under this user. */
export function chromiumArgs(): string[];
