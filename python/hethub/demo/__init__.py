"""`hethub demo`: sentence embedding on three emulated devices of unlike speed."""
