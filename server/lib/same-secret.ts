import { createHash, timingSafeEqual } from 'node:crypto'

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Compares two secrets in a time that does not depend on where they differ or how long they are. */
export const isSameSecret = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b))
