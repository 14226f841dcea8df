// Source files of functions and instructions.

import { capture, functions } from "./state";

/** The path of a file of the capture. */
export function filePath(number: number | undefined): string | null {
  if (number === undefined) return null;
  return capture.value?.files.find((file) => file.file === number)?.path ?? null;
}

/** The path of the file that a function is in, where it is known. */
export function fileOfFunction(id: number): string | null {
  return filePath(functions.value.get(id)?.file);
}

/** The last part of a path. */
export function fileName(path: string): string {
  return path.split(/[\\/]/).pop() ?? path;
}
