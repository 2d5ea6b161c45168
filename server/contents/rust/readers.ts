import type { Reader } from '../reader.ts'
import { auditSection } from './audit-section.ts'
import { cargoReaders } from './cargo-lock.ts'

/** What programs in Rust were built from, and what projects of Rust want. */
export const rustReaders: readonly Reader[] = [auditSection, ...cargoReaders]
