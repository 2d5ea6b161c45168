/** What can be read by position: a file, or its number. */
export interface ByPosition {
  read(buffer: Buffer, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>
}

/** Reads `length` bytes at `position`, in as many calls as that takes; fewer only at the end of the file. */
export async function readAt(handle: ByPosition, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, position + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}
