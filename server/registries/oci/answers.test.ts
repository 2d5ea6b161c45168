import { expect, test } from 'vitest'
import { headerText } from './answers.ts'

test('a text in the quotes of a header is ASCII on one line, and whole: its end is the link', () => {
  const link = 'https://h/#/review?pick=app'
  const text = `Held: "é\u2028\\" ${'a'.repeat(300)}. ${link}`
  expect(headerText(text)).toBe(`Held: 'e '' ${'a'.repeat(300)}. ${link}`)
})
